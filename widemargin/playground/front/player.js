// A recorded run that can be stepped forward and back: the events of a solver, and the point, objective and gap at each.

import { certify, shareOfGap } from "./certificate.js";
import { gradient, objective, thresholds, violation, withoutSum, feasible } from "./problem.js";
import { randomFrom } from "./random.js";
import { SOLVERS } from "./solvers.js";

export const STEP_TOL = 1e-6; // violation at which a watched solver ends
export const MOST_STEPS = 20000; // recorded; more would fill the memory

export class Player {
  constructor(problem, solver, seed = 1, tol = STEP_TOL) {
    this.solver = solver;
    this.problem = SOLVERS[solver].fixedBias ? withoutSum(problem) : problem;
    const beta = feasible(this.problem, new Float64Array(problem.n));
    const own = { problem: this.problem, beta, f: gradient(this.problem, beta), random: randomFrom(seed), tol };
    this.source = SOLVERS[solver].run(own);
    this.beta = Float64Array.from(beta);
    this.f = Float64Array.from(own.f);
    this.events = [];
    this.position = 0;
    this.ended = false;
    this.full = false;
    this.record = [this.measure()];
  }

  /** The event that led here, and the one that a step forward repeats or makes. */
  get last() {
    return this.events[this.position - 1] ?? null;
  }

  /** One step forward; false at the end. */
  forward() {
    if (this.position === this.events.length && !this.fetch()) return false;
    this.apply(this.events[this.position++], "to");
    if (this.record.length === this.position) this.record.push(this.measure());
    return true;
  }

  /** One step back; false at the start. */
  back() {
    if (this.position === 0) return false;
    this.apply(this.events[--this.position], "from");
    return true;
  }

  /** The next step without making it: what the solver is about to do, or null at the end. */
  peek() {
    if (this.position === this.events.length && !this.fetch()) return null;
    return this.events[this.position];
  }

  goTo(position) {
    while (this.position > position && this.back());
    while (this.position < position && this.forward());
  }

  /** To the end, or for some milliseconds; whether the end is reached. */
  finish(milliseconds = Infinity) {
    const until = performance.now() + milliseconds;
    while (this.forward()) if (performance.now() > until) return false;
    return true;
  }

  fetch() {
    if (this.ended) return false;
    this.full = this.events.length >= MOST_STEPS;
    const next = this.full ? { done: true } : this.source.next();
    if (next.done) {
      this.ended = true;
      return false;
    }
    this.events.push(next.value);
    return true;
  }

  apply(event, side) {
    const { n, K } = this.problem;
    event.moved.forEach((k, t) => {
      const step = event[side][t] - this.beta[k];
      this.beta[k] = event[side][t];
      for (let i = 0, at = k * n; i < n; i++) this.f[i] += step * K[at + i];
    });
    if (this.position % 500 === 0) this.f = gradient(this.problem, this.beta);
  }

  measure() {
    const { problem, beta, f } = this;
    const levels = thresholds(problem, beta, f);
    let [gap, support] = [0, 0];
    for (let i = 0; i < problem.n; i++) {
      gap += shareOfGap(problem, beta, f, i, problem.groups ? levels[problem.group[i]] : 0);
      if (beta[i] !== 0) support++;
    }
    return { objective: -objective(problem, beta, f), gap, violation: violation(problem, beta, f), support };
  }

  certificate() {
    return certify(this.problem, this.beta);
  }
}
