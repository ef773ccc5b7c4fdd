// Vapnik's chunking: solve the problem on the support vectors so far and the worst violators, find violators, repeat.

import { startAt, work } from "./exact.js";
import { fall, gradient, rise, thresholds, violation } from "./problem.js";
import { short } from "./pair_event.js";

const VIOLATORS = 6; // added per round: few enough to watch

export function* chunking(state) {
  const { problem, beta, tol } = state;
  for (let round = 1; violation(problem, beta, state.f) > tol; round++) {
    const inside = [...Array(problem.n).keys()].filter((k) => beta[k] !== 0);
    const added = worst(state, inside);
    const set = [...inside, ...added].sort((a, b) => a - b);
    const run = startAt(restricted(problem, beta, state.f, set), set.map((k) => beta[k]));
    work(run, tol / 2);
    const places = [...set.keys()].filter((t) => run.beta[t] !== beta[set[t]]);
    if (!places.length) return;
    const event = {
      moved: places.map((t) => set[t]), from: places.map((t) => beta[set[t]]), to: places.map((t) => run.beta[t]),
      first: -1, second: -1, rule: "", set, added,
      why: `Round ${round}: ${inside.length} multipliers that are not zero and the ${added.length} worst violators are a `
        + `problem of their own, solved in ${run.steps} pair steps. Largest violation before: ${short(violation(problem, beta, state.f))}.`,
    };
    places.forEach((t) => (beta[set[t]] = run.beta[t]));
    state.f.set(gradient(problem, beta));
    yield event;
  }
}

/** The worst violators outside, of every group half from either side. */
function worst({ problem, beta, f }, inside) {
  const levels = thresholds(problem, beta, f);
  const taken = new Set(inside);
  const room = Math.max(1, Math.floor(VIOLATORS / 2 / Math.max(1, problem.groups)));
  const found = new Set();
  for (let g = 0; g < Math.max(1, problem.groups); g++) {
    for (const side of [1, -1]) {
      const miss = (k) => (side > 0 ? levels[g] - rise(problem, beta, f, k) : fall(problem, beta, f, k) - levels[g]);
      [...Array(problem.n).keys()]
        .filter((k) => !taken.has(k) && (!problem.groups || problem.group[k] === g) && miss(k) > 0)
        .sort((a, b) => miss(b) - miss(a))
        .slice(0, room)
        .forEach((k) => found.add(k));
    }
  }
  return [...found];
}

/** The problem of some variables, all others fixed: their part of K b goes into the linear term. */
function restricted(problem, beta, f, set) {
  const { n, K, group, groups } = problem;
  const pick = (values) => Float64Array.from(set, (k) => values[k]);
  const own = new Float64Array(set.length ** 2);
  set.forEach((i, a) => set.forEach((j, b) => (own[a * set.length + b] = K[i * n + j])));
  const c = Float64Array.from(set, (i, a) =>
    f[i] - set.reduce((total, j, b) => total + own[a * set.length + b] * beta[j], 0));
  const sums = new Float64Array(groups);
  set.forEach((k) => groups && (sums[group[k]] += beta[k]));
  return {
    n: set.length, K: own, groups, sums, c, lower: pick(problem.lower), upper: pick(problem.upper),
    epsilon: pick(problem.epsilon), group: Int32Array.from(set, (k) => group[k]),
  };
}
