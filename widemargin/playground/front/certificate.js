// How far a point is from the optimum, recomputed from the multipliers alone.
//
//   gap = sum_i  loss_i(F_i - r) + (F_i + c_i - r) b_i + e_i |b_i|,   loss_i(u) = max over the box of -(u + c_i) b - e_i |b|
//
// Every term is 0 or more, and their sum is the primal minus the dual value at the thresholds r (problems/dual.py).

import { extremes, gradient, isFree, objective, thresholds } from "./problem.js";

/** Certificate of a point: violation, gap, primal, dual, counts and thresholds. */
export function certify(problem, beta) {
  const f = gradient(problem, beta);
  const ends = extremes(problem, beta, f);
  const levels = thresholds(problem, beta, f);
  let gap = 0;
  let [support, free] = [0, 0];
  for (let i = 0; i < problem.n; i++) {
    gap += shareOfGap(problem, beta, f, i, problem.groups ? levels[problem.group[i]] : 0);
    if (beta[i] !== 0) support++;
    if (beta[i] !== 0 && isFree(problem, beta, i)) free++;
  }
  const dual = -objective(problem, beta, f);
  const primal = dual + gap;
  const violation = problem.groups
    ? Math.max(0, ...ends.map((end) => end.fall - end.rise))
    : Math.max(0, ends[0].fall, -ends[0].rise);
  const relative = gap / Math.max(Math.abs(primal), Math.abs(dual), 1e-300);
  return { violation, gap, relative: gap === 0 ? 0 : relative, primal, dual, objective: dual, support, free, levels, f };
}

/** What a single point adds to the gap. */
export function shareOfGap({ lower, upper, epsilon }, beta, f, i, level) {
  const slope = f[i] - level;
  const loss = Math.max(0, -(slope + epsilon[i]) * upper[i], -(slope - epsilon[i]) * lower[i]);
  return Math.max(0, loss + slope * beta[i] + epsilon[i] * Math.abs(beta[i]));
}
