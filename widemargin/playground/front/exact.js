// The exact solver: SMO with the second-order choice of the pair (Fan, Chen and Lin 2005, JMLR 6), from any start, for as
// many milliseconds as it is given. A second call continues.

import { extremes, fall, feasible, gradient, snap, violation } from "./problem.js";
import { ETA_FLOOR, addToGradient, pairStep } from "./pair_step.js";

const CHECK_CLOCK = 64; // steps between two looks at the clock
const REFRESH = 20000; // steps after which f is computed anew, since rounding adds up

/** The pair that promises most: i that can rise along the smallest slope, and the partner with the largest gain. */
export function choosePair(problem, beta, f) {
  let widest = null;
  extremes(problem, beta, f).forEach((end, g) => {
    if (end.up >= 0 && end.low >= 0 && (!widest || end.fall - end.rise > widest.gap)) {
      widest = { i: end.up, low: end.low, gap: end.fall - end.rise, rise: end.rise, g };
    }
  });
  if (!widest || !(widest.gap > 0)) return null;
  const { n, K, group } = problem;
  const { i } = widest;
  let [j, best] = [-1, 0];
  for (let t = 0; t < n; t++) {
    if (group[t] !== widest.g || t === i) continue;
    const slope = fall(problem, beta, f, t) - widest.rise;
    if (!(slope > 0)) continue;
    const scale = K[i * n + i] + K[t * n + t];
    const gain = (slope * slope) / Math.max(scale - 2 * K[i * n + t], ETA_FLOOR * scale);
    if (gain > best) [best, j] = [gain, t];
  }
  return { i, j: j < 0 ? widest.low : j, gap: widest.gap, gain: best / 2 };
}

/** A point of a problem to work on: nothing done yet. */
export function startAt(problem, guess = null) {
  const beta = feasible(problem, guess ?? new Float64Array(problem.n));
  return { problem, beta, f: gradient(problem, beta), steps: 0, done: false };
}

/** Continue a run until the violation is at most tol, or for some milliseconds; returns the run. */
export function work(run, tol = 1e-9, milliseconds = Infinity, mostSteps = 5e6) {
  const { problem, beta } = run;
  const until = performance.now() + milliseconds;
  while (!run.done) {
    const pair = choosePair(problem, beta, run.f);
    if (!pair || pair.gap <= tol) {
      run.f = gradient(problem, beta);
      run.done = run.fresh || violation(problem, beta, run.f) <= tol;
      run.fresh = true;
      continue;
    }
    const { i, j } = pair;
    const move = pairStep(problem, beta, run.f, i, j);
    if (!(move.decrease > 0)) {
      run.f = gradient(problem, beta);
      const moved = [snap(problem, beta, i), snap(problem, beta, j)].some(Boolean);
      if (run.fresh && !moved) run.done = true; // no step is left above rounding
      run.fresh = !moved;
      continue;
    }
    run.fresh = false;
    addToGradient(problem, run.f, i, move.bi - beta[i], j, move.bj - beta[j]);
    [beta[i], beta[j]] = [move.bi, move.bj];
    run.steps++;
    if (run.steps % REFRESH === 0) run.f = gradient(problem, beta);
    if (run.steps >= mostSteps) run.done = true;
    if (run.steps % CHECK_CLOCK === 0 && performance.now() > until) break;
  }
  return run;
}

