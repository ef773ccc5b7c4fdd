// The five kernels, their matrix of the points, and sums of kernels over a whole grid.
//
//   linear      x'z                       rbf        exp(-gamma |x - z|^2)
//   poly        (gamma x'z + coef0)^degree  laplacian  exp(-gamma |x - z|_1)
//   sigmoid     tanh(gamma x'z + coef0)
//
// Names and formulas are those of scikit-learn. Points are two arrays, x and y; regression has y = 0 throughout.

export const KERNELS = {
  linear: { label: "linear", parameters: [] },
  poly: { label: "polynomial", parameters: ["gamma", "degree", "coef0"] },
  rbf: { label: "Gaussian", parameters: ["gamma"] },
  sigmoid: { label: "sigmoid", parameters: ["gamma", "coef0"] },
  laplacian: { label: "Laplacian", parameters: ["gamma"] },
};

function wholePower(base, degree) {
  let result = 1;
  for (let k = degree; k > 0; k--) result *= base;
  return result;
}

/** Return k(x1, y1, x2, y2) for { kernel, gamma, degree, coef0 }. */
export function kernelFunction({ kernel, gamma, degree, coef0 }) {
  switch (kernel) {
    case "linear":
      return (a, b, c, d) => a * c + b * d;
    case "poly":
      return (a, b, c, d) => wholePower(gamma * (a * c + b * d) + coef0, degree);
    case "sigmoid":
      return (a, b, c, d) => Math.tanh(gamma * (a * c + b * d) + coef0);
    case "laplacian":
      return (a, b, c, d) => Math.exp(-gamma * (Math.abs(a - c) + Math.abs(b - d)));
    default:
      return (a, b, c, d) => Math.exp(-gamma * ((a - c) * (a - c) + (b - d) * (b - d)));
  }
}

/** Return the kernel matrix, row after row. */
export function kernelMatrix(parameters, xs, ys) {
  const k = kernelFunction(parameters);
  const n = xs.length;
  const K = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) K[i * n + j] = K[j * n + i] = k(xs[i], ys[i], xs[j], ys[j]);
  }
  return K;
}

/** Whether every value is a number; large degrees and gammas overflow. */
export function isFinite(K) {
  for (let k = 0; k < K.length; k++) if (!Number.isFinite(K[k])) return false;
  return true;
}

/**
 * Sums sum_i weights[i] k(point i, node) at all nodes (gridX[a], gridY[b]) of a grid, at place b * gridX.length + a.
 *
 * The Gaussian and the Laplacian are products of a factor in x and one in y: one exponential for each point and each
 * line of the grid, instead of one for each node.
 */
export function sumOverGrid(parameters, xs, ys, weights, gridX, gridY) {
  const [width, height] = [gridX.length, gridY.length];
  const out = new Float64Array(width * height);
  const factor = factorOf(parameters);
  const k = kernelFunction(parameters);
  const row = new Float64Array(width);
  if (parameters.kernel === "linear") {
    let [wx, wy] = [0, 0];
    for (let i = 0; i < xs.length; i++) [wx, wy] = [wx + weights[i] * xs[i], wy + weights[i] * ys[i]];
    for (let b = 0; b < height; b++) for (let a = 0; a < width; a++) out[b * width + a] = wx * gridX[a] + wy * gridY[b];
    return out;
  }
  for (let i = 0; i < xs.length; i++) {
    const weight = weights[i];
    if (weight === 0) continue;
    if (factor) for (let a = 0; a < width; a++) row[a] = weight * factor(xs[i] - gridX[a]);
    for (let b = 0; b < height; b++) {
      const base = b * width;
      if (factor) {
        const along = factor(ys[i] - gridY[b]);
        if (along > 1e-30) for (let a = 0; a < width; a++) out[base + a] += along * row[a];
      } else {
        for (let a = 0; a < width; a++) out[base + a] += weight * k(xs[i], ys[i], gridX[a], gridY[b]);
      }
    }
  }
  return out;
}

function factorOf({ kernel, gamma }) {
  if (kernel === "rbf") return (d) => Math.exp(-gamma * d * d);
  if (kernel === "laplacian") return (d) => Math.exp(-gamma * Math.abs(d));
  return null;
}
