// Batch gradient ascent with projection: b <- P(b - rate f), all multipliers at once; a kink shifts values towards zero
// first (the proximal step). The rate is 1 / (largest eigenvalue of K), halved where the objective does not fall.

import { feasible, gradient, objective, violation } from "./problem.js";
import { short } from "./pair_event.js";

const POWER_ITERATIONS = 20;

export function* gradientAscent(state) {
  const { problem, beta, tol } = state;
  let rate = 1 / largestEigenvalue(problem);
  for (let step = 1; violation(problem, beta, state.f) > tol; step++) {
    const before = objective(problem, beta, state.f);
    let target, f;
    do {
      target = shrunkInto(problem, beta, state.f, rate);
      f = gradient(problem, target);
      if (objective(problem, target, f) < before) break;
      rate /= 2;
    } while (rate > 1e-18);
    const moved = [...target.keys()].filter((k) => target[k] !== beta[k]);
    if (!moved.length || !(objective(problem, target, f) < before)) return;
    const event = {
      moved, from: moved.map((k) => beta[k]), to: moved.map((k) => target[k]), first: -1, second: -1, rule: "",
      why: `Step ${step}: ${moved.length} multipliers move along the gradient at rate ${short(rate)}, then back into the box `
        + "with the sum kept.",
    };
    beta.set(target);
    state.f.set(f);
    yield event;
  }
}

/** The nearest feasible point to beta - rate f, after the kink's shift; the level that keeps a sum is found by halving. */
function shrunkInto(problem, beta, f, rate) {
  const values = beta.map((b, k) => b - rate * f[k]);
  if (!problem.epsilon.some((e) => e > 0)) return feasible(problem, values);
  const at = (level) => values.map((value, k) => {
    const [v, e] = [value - level, rate * problem.epsilon[k]];
    const shrunk = v > 0 ? Math.max(v - e, 0) : Math.min(v + e, 0);
    return Math.min(problem.upper[k], Math.max(problem.lower[k], shrunk));
  });
  const sum = (level) => at(level).reduce((a, b) => a + b, 0);
  let [low, high] = [-1, 1];
  while (sum(low) < problem.sums[0] && low > -1e12) low *= 2;
  while (sum(high) > problem.sums[0] && high < 1e12) high *= 2;
  for (let k = 0; k < 80; k++) {
    const middle = (low + high) / 2;
    if (sum(middle) > problem.sums[0]) low = middle;
    else high = middle;
  }
  return feasible(problem, at(high));
}

function largestEigenvalue({ n, K }) {
  let vector = Float64Array.from({ length: n }, (_, k) => 1 + ((k * 0.618) % 1));
  let value = 1;
  for (let turn = 0; turn < POWER_ITERATIONS; turn++) {
    const norm = Math.hypot(...vector) || 1;
    const next = new Float64Array(n);
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) next[i] += (K[i * n + j] * vector[j]) / norm;
    vector = next;
    value = Math.hypot(...vector);
  }
  return value || 1;
}
