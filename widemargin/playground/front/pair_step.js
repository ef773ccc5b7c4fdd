// The exact step of SMO on two multipliers whose sum is kept: Platt (1998), (13)-(19); with a kink (regression) the best
// of the quadrants that contain the pair, Theorem 7.18 of Cristianini and Shawe-Taylor (2000). As in
// widemargin/solvers/reference/pair_move.py.

export const ETA_FLOOR = 1e-12; // curvature over the diagonal entries below which it is rounding, as of equal points

/** K_ii + K_jj - 2 K_ij, and K_ii + K_jj. */
export function curvature({ n, K }, i, j) {
  const scale = K[i * n + i] + K[j * n + j];
  return { eta: scale - 2 * K[i * n + j], scale };
}

function quadrant({ lower, upper, epsilon }, i, side) {
  if (epsilon[i] === 0) return side > 0 ? [lower[i], upper[i]] : [Infinity, -Infinity];
  return side > 0 ? [Math.max(0, lower[i]), upper[i]] : [lower[i], Math.min(0, upper[i])];
}

/** New values of b_i and b_j and the decrease of the objective; bounds are assigned exactly. */
export function pairStep(problem, beta, f, i, j) {
  const { eta, scale } = curvature(problem, i, j);
  const total = beta[i] + beta[j];
  let best = { bi: beta[i], bj: beta[j], decrease: 0 };
  for (const sideI of [1, -1]) {
    const [li, ui] = quadrant(problem, i, sideI);
    if (beta[i] < li || beta[i] > ui) continue;
    for (const sideJ of [1, -1]) {
      const [lj, uj] = quadrant(problem, j, sideJ);
      const [low, high] = [Math.max(lj, total - ui), Math.min(uj, total - li)];
      if (beta[j] < lj || beta[j] > uj || !(low < high)) continue;
      const slope = f[j] - f[i] + problem.epsilon[j] * sideJ - problem.epsilon[i] * sideI;
      const change = (b) => slope * (b - beta[j]) + 0.5 * eta * (b - beta[j]) ** 2;
      let bj = beta[j] - slope / eta;
      if (!(eta > ETA_FLOOR * scale)) {
        const [atLow, atHigh] = [change(low), change(high)];
        if (!(atLow < 0 || atHigh < 0)) continue;
        bj = atLow < atHigh ? low : high;
      }
      bj = Math.min(high, Math.max(low, bj));
      let bi = total - bj;
      if ((bj === low && total - ui >= lj) || bi > ui) bi = ui;
      else if ((bj === high && total - li <= uj) || bi < li) bi = li;
      const decrease = -change(bj);
      if (decrease > best.decrease) best = { bi, bj, decrease };
    }
  }
  return best;
}

/** Add what a change of b_i and b_j does to f. */
export function addToGradient({ n, K }, f, i, stepI, j, stepJ) {
  const [a, b] = [i * n, j * n];
  for (let t = 0; t < n; t++) f[t] += stepI * K[a + t] + stepJ * K[b + t];
}

/** Threshold that puts a free one of the two points on its margin, else halfway: Platt's (20) and (21). */
export function thresholdBetween(problem, beta, f, i, j, isFree) {
  const proposal = (k) => f[k] + problem.epsilon[k] * Math.sign(beta[k]);
  if (isFree(problem, beta, i)) return proposal(i);
  return isFree(problem, beta, j) ? proposal(j) : (proposal(i) + proposal(j)) / 2;
}
