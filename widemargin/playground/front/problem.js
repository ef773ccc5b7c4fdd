// The signed dual of every machine, as in widemargin/problems/dual.py:
//
//   minimise    1/2 b'K b + c'b + sum_i e_i |b_i|      subject to  lower <= b <= upper, the sum of each group kept
//
// with b_i = y_i alpha_i. f = K b + c is the gradient of the smooth part. A variable can rise along the slope f + e
// (b >= 0) or f - e (b < 0), and fall along f + e (b > 0) or f - e (b <= 0); b is optimal if and only if in each group
// the largest slope that can fall is at most the smallest that can rise.

const GROUP_OF_ALL = 0;
const AT_END = 1e-13; // of a box: a value as near to its end is there but for rounding

function empty(K, n, groups) {
  const zeros = () => new Float64Array(n);
  return {
    n, K, groups, c: zeros(), lower: zeros(), upper: zeros(), epsilon: zeros(), sums: new Float64Array(groups),
    group: new Int32Array(n).fill(GROUP_OF_ALL),
  };
}

/** C-SVC: 0 <= alpha <= C, labels y of +1 and -1. */
export function hinge(K, y, C) {
  const problem = empty(K, y.length, 1);
  for (let i = 0; i < y.length; i++) {
    problem.c[i] = -y[i];
    problem.lower[i] = Math.min(0, y[i] * C);
    problem.upper[i] = Math.max(0, y[i] * C);
  }
  return problem;
}

/** nu-SVC in LIBSVM's scaling: 0 <= alpha <= 1, the alphas of each class sum to nu n / 2. */
export function nuClassification(K, y, nu) {
  const problem = empty(K, y.length, 2);
  for (let i = 0; i < y.length; i++) {
    problem.group[i] = y[i] > 0 ? 0 : 1;
    problem.lower[i] = Math.min(0, y[i]);
    problem.upper[i] = Math.max(0, y[i]);
  }
  problem.sums[0] = (nu * y.length) / 2;
  problem.sums[1] = (-nu * y.length) / 2;
  return problem;
}

/** The largest nu that two classes allow. */
export function largestNu(y) {
  const positive = y.filter((label) => label > 0).length;
  return (2 * Math.min(positive, y.length - positive)) / y.length;
}

/** SVR: -C <= b <= C, with a kink of height epsilon at zero. */
export function tube(K, targets, C, epsilon) {
  const problem = empty(K, targets.length, 1);
  problem.lower.fill(-C);
  problem.upper.fill(C);
  problem.epsilon.fill(epsilon);
  targets.forEach((target, i) => (problem.c[i] = -target));
  return problem;
}

/** One-class SVM: 0 <= b <= 1, the sum is nu n. */
export function oneClass(K, n, nu) {
  const problem = empty(K, n, 1);
  problem.upper.fill(1);
  problem.sums[0] = nu * n;
  return problem;
}

/** The same problem with a fixed bias: no sum to keep, tau^2 added to K (tau = max |x| in feature space). */
export function withoutSum(problem) {
  let largest = 0;
  for (let i = 0; i < problem.n; i++) largest = Math.max(largest, problem.K[i * problem.n + i]);
  return { ...problem, groups: 0, sums: new Float64Array(0), K: problem.K.map((value) => value + largest), tau2: largest };
}

/** f = K b + c, from nothing but b. */
export function gradient({ n, K, c }, beta) {
  const f = Float64Array.from(c);
  for (let j = 0; j < n; j++) {
    const b = beta[j];
    if (b !== 0) for (let i = 0, at = j * n; i < n; i++) f[i] += b * K[at + i];
  }
  return f;
}

export function objective({ n, c, epsilon }, beta, f) {
  let value = 0;
  for (let i = 0; i < n; i++) value += 0.5 * beta[i] * (f[i] + c[i]) + epsilon[i] * Math.abs(beta[i]);
  return value;
}

/** Slope along which variable i can rise, Infinity if it cannot. */
export function rise({ upper, epsilon }, beta, f, i) {
  if (!(beta[i] < upper[i])) return Infinity;
  return beta[i] >= 0 ? f[i] + epsilon[i] : f[i] - epsilon[i];
}

/** Slope along which variable i can fall, -Infinity if it cannot. */
export function fall({ lower, epsilon }, beta, f, i) {
  if (!(beta[i] > lower[i])) return -Infinity;
  return beta[i] > 0 ? f[i] + epsilon[i] : f[i] - epsilon[i];
}

/** Whether a multiplier is strictly inside its box, and away from its kink. */
export function isFree({ lower, upper, epsilon }, beta, i) {
  return beta[i] > lower[i] && beta[i] < upper[i] && (epsilon[i] === 0 || beta[i] !== 0);
}

/** For each group the smallest slope that can rise, the largest that can fall, and who has them. */
export function extremes(problem, beta, f) {
  const found = [];
  for (let g = 0; g < Math.max(1, problem.groups); g++) found.push({ up: -1, low: -1, rise: Infinity, fall: -Infinity });
  for (let i = 0; i < problem.n; i++) {
    const at = found[problem.groups ? problem.group[i] : 0];
    const [r, l] = [rise(problem, beta, f, i), fall(problem, beta, f, i)];
    if (r < at.rise) [at.rise, at.up] = [r, i];
    if (l > at.fall) [at.fall, at.low] = [l, i];
  }
  return found;
}

/** The threshold of every group: halfway between its two ends, or the end that exists. Zero for a fixed bias. */
export function thresholds(problem, beta, f) {
  if (!problem.groups) return [0];
  return extremes(problem, beta, f).map(({ rise: high, fall: low }) => {
    if (high === Infinity) return low === -Infinity ? 0 : low;
    return low === -Infinity ? high : (high + low) / 2;
  });
}

/** The largest violation of the optimality conditions. */
export function violation(problem, beta, f) {
  const ends = extremes(problem, beta, f);
  if (!problem.groups) return Math.max(0, ends[0].fall, -ends[0].rise);
  return Math.max(0, ...ends.map((end) => end.fall - end.rise));
}

/** The feasible point nearest to `guess`: clipped to the box after a shift of each group that gives its sum. */
export function feasible(problem, guess) {
  const beta = Float64Array.from(guess);
  const clip = (shift, g) => {
    let total = 0;
    for (let i = 0; i < problem.n; i++) {
      if (problem.groups && problem.group[i] !== g) continue;
      beta[i] = Math.min(problem.upper[i], Math.max(problem.lower[i], guess[i] - shift));
      total += beta[i];
    }
    return total;
  };
  if (!problem.groups) clip(0, 0);
  for (let g = 0; g < problem.groups; g++) {
    const goal = problem.sums[g];
    if (clip(0, g) === goal) continue;
    let [low, high] = [-1, 1];
    while (clip(low, g) < goal && low > -1e12) low *= 2;
    while (clip(high, g) > goal && high < 1e12) high *= 2;
    for (let k = 0; k < 100 && low < high; k++) {
      const middle = (low + high) / 2;
      if (middle === low || middle === high) break;
      if (clip(middle, g) > goal) low = middle;
      else high = middle;
    }
    clip(high, g);
    settle(problem, beta, g);
  }
  return beta;
}

/** Put a value that is a rounding error away from an end of its box onto the end; whether it was moved. */
export function snap({ lower, upper }, beta, i) {
  const near = AT_END * (upper[i] - lower[i]);
  const end = upper[i] - beta[i] <= near ? upper[i] : beta[i] - lower[i] <= near ? lower[i] : beta[i];
  const moved = end !== beta[i];
  beta[i] = end;
  return moved;
}

/** Snap the values of a group to their ends, and give what its sum then lacks to those inside, else to any with room. */
function settle(problem, beta, g) {
  const { n, group, lower, upper, sums } = problem;
  const own = [...Array(n).keys()].filter((i) => group[i] === g);
  own.forEach((i) => snap(problem, beta, i));
  let rest = sums[g] - own.reduce((total, i) => total + beta[i], 0);
  const isInside = (i) => beta[i] > lower[i] && beta[i] < upper[i];
  for (const i of [...own.filter(isInside), ...own]) {
    if (rest === 0) return;
    const moved = Math.min(upper[i], Math.max(lower[i], beta[i] + rest));
    rest -= moved - beta[i];
    beta[i] = moved;
  }
}
