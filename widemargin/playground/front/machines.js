// From points and parameters to a fitted machine: two-class problems, certificates, decision values and votes.
//
// Classes vote one against one, as in LIBSVM; the value of a pair (a, b) is positive for the later class b, as it is in
// scikit-learn for two classes. Regression uses x only and fits y.

import { certify } from "./certificate.js";
import { startAt, work } from "./exact.js";
import { isFinite, kernelFunction, kernelMatrix, sumOverGrid } from "./kernels.js";
import { hinge, largestNu, nuClassification, oneClass, tube } from "./problem.js";

export const MACHINES = {
  svc: { label: "C-SVC", parameters: ["C"], classifies: true },
  nusvc: { label: "nu-SVC", parameters: ["nu"], classifies: true },
  svr: { label: "SVR", parameters: ["C", "epsilon"], classifies: false },
  oneclass: { label: "one-class", parameters: ["nu"], classifies: false },
};
export const TOL = 1e-9; // largest violation of a finished fit; float64 allows little less
const NO_MARGIN = 100 * TOL; // margins rho of nu-SVC that a finished fit cannot tell from zero

/** Coordinates as arrays; regression is a problem on a line. */
export function coordinates(points, machine) {
  return {
    xs: Float64Array.from(points, (point) => point[0]),
    ys: Float64Array.from(points, (point) => (machine === "svr" ? 0 : point[1])),
  };
}

export function classesOf(points) {
  return [...new Set(points.map((point) => point[2]))].sort((a, b) => a - b);
}

/** A sentence that says why these points cannot be fitted, or "". */
export function obstacle({ machine, points }) {
  if (points.length === 0) return "There are no points yet: click in the plane, or choose an example.";
  if (MACHINES[machine].classifies && classesOf(points).length < 2) {
    return "All points are of one class. Choose another class and place a point of it, or use the one-class machine.";
  }
  return "";
}

/** A sentence on a finished fit that shows less than it seems to, or "". */
export function remark(parts) {
  return parts?.some((part) => part.rho === 0)
    ? "With this ν no function separates the classes by a margin (ρ = 0), so any boundary is as good: choose a larger ν." : "";
}

/** The problems of a machine: for each the points it is on (their numbers), its two classes, and the dual. */
export function problemsOf(state) {
  const { machine, points, C, nu, epsilon } = state;
  const { xs, ys } = coordinates(points, machine);
  const K = kernelMatrix(state, xs, ys);
  if (!isFinite(K)) throw new RangeError("The kernel's values overflow: choose a smaller gamma or degree.");
  if (machine === "svr") {
    const all = [...points.keys()];
    return [{ index: all, classes: [], problem: tube(K, points.map((point) => point[1]), C, epsilon) }];
  }
  if (machine === "oneclass") return [{ index: [...points.keys()], classes: [], problem: oneClass(K, points.length, nu) }];
  const classes = classesOf(points);
  const parts = [];
  for (let a = 0; a < classes.length; a++) {
    for (let b = a + 1; b < classes.length; b++) {
      const index = [...points.keys()].filter((i) => points[i][2] === classes[a] || points[i][2] === classes[b]);
      const y = index.map((i) => (points[i][2] === classes[b] ? 1 : -1));
      if (machine === "nusvc" && nu > largestNu(y) * (1 + 1e-12)) {
        const most = Math.floor(largestNu(y) * 1000) / 1000;
        throw new RangeError(`nu = ${nu} asks for more support vectors than the smaller class has: at most ${most} here.`);
      }
      const own = partOf(K, points.length, index);
      parts.push({
        index, y, classes: [classes[a], classes[b]],
        problem: machine === "svc" ? hinge(own, y, C) : nuClassification(own, y, nu),
      });
    }
  }
  return parts;
}

function partOf(K, n, index) {
  if (index.length === n) return K;
  const own = new Float64Array(index.length ** 2);
  index.forEach((i, a) => index.forEach((j, b) => (own[a * index.length + b] = K[i * n + j])));
  return own;
}

/** Scale and bias of a part: decision value = scale * (sum_i b_i k(x_i, x)) + bias. */
export function scaleAndBias(machine, problem, levels) {
  if (machine !== "nusvc") return { scale: 1, bias: problem.groups ? -levels[0] : 0, rho: NaN };
  const rho = (levels[0] - levels[1]) / 2;
  const bias = -(levels[0] + levels[1]) / 2;
  return rho > NO_MARGIN ? { scale: 1 / rho, bias: bias / rho, rho } : { scale: 1, bias, rho: 0 };
}

/** A fit in progress: `improve` it until `done`. `before` is the fit it continues, if the points are the same ones. */
export class Fit {
  constructor(state, before = null) {
    this.state = state;
    this.parts = problemsOf(state);
    this.parts.forEach((part, k) => {
      const old = before?.parts[k];
      const fits = old && old.index.length === part.index.length && before.state.machine === state.machine;
      const guess = fits ? old.run.beta.map((b) => b * growthOf(before.state, state)) : null;
      part.run = startAt(part.problem, guess);
    });
  }

  /** Work for some milliseconds; then certificates and decision functions are those of the point reached. */
  improve(milliseconds = Infinity, tol = TOL) {
    const share = milliseconds / this.parts.length;
    for (const part of this.parts) {
      if (!part.run.done) work(part.run, tol, share);
      describe(part, this.state.machine, part.run.beta);
    }
    return this;
  }

  get done() {
    return this.parts.every((part) => part.run.done);
  }

  /** One certificate for all parts: sums of objectives, the worst of the rest. */
  get certificate() {
    return combine(this.parts.map((part) => part.certificate), this.supportOf().size);
  }

  /** Numbers of the points with a multiplier other than zero in any part. */
  supportOf() {
    const found = new Set();
    for (const part of this.parts) part.index.forEach((i, k) => part.beta[k] !== 0 && found.add(i));
    return found;
  }
}

/** How multipliers follow their box when C or nu changes; with the same box they stay. */
function growthOf(before, after) {
  if (after.machine === "svc" || after.machine === "svr") return after.C / before.C;
  return after.nu / before.nu;
}

/** Set certificate, coefficients and bias of a part from its multipliers. */
export function describe(part, machine, beta) {
  part.beta = beta;
  part.certificate = certify(part.problem, beta);
  Object.assign(part, scaleAndBias(machine, part.problem, part.certificate.levels));
  let norm = 0;
  const { f, levels } = part.certificate;
  for (let i = 0; i < beta.length; i++) norm += beta[i] * (f[i] - part.problem.c[i]);
  part.norm = Math.sqrt(Math.max(0, norm)) * part.scale;
  part.levels = levels;
  return part;
}

export function combine(certificates, support) {
  const worst = (name) => Math.max(...certificates.map((certificate) => certificate[name]));
  const sum = (name) => certificates.reduce((total, certificate) => total + certificate[name], 0);
  return {
    violation: worst("violation"), relative: worst("relative"), primal: sum("primal"), dual: sum("dual"),
    objective: sum("objective"), support, multipliers: sum("support"), free: sum("free"), parts: certificates.length,
  };
}

/** Decision values of every part at the nodes of a grid; regression has a grid of one line. */
export function valuesOnGrid(parts, state, gridX, gridY) {
  const { xs, ys } = coordinates(state.points, state.machine);
  return parts.map((part) => {
    const pick = (values) => part.index.map((i) => values[i]);
    const values = sumOverGrid(state, pick(xs), pick(ys), part.beta, gridX, gridY);
    const tau2 = part.problem.tau2 ?? 0; // a fixed bias is a constant feature
    const extra = tau2 ? tau2 * part.beta.reduce((a, b) => a + b, 0) : 0;
    return values.map((value) => part.scale * (value + extra) + part.bias);
  });
}

/** Decision values of every part at one place. */
export function valuesAt(parts, state, x, y) {
  const k = kernelFunction(state);
  const { xs, ys } = coordinates(state.points, state.machine);
  return parts.map((part) => {
    const tau2 = part.problem.tau2 ?? 0;
    let sum = 0;
    part.index.forEach((i, t) => (sum += part.beta[t] === 0 ? 0 : part.beta[t] * (k(xs[i], ys[i], x, y) + tau2)));
    return part.scale * sum + part.bias;
  });
}

/** The class with the most votes; a tie goes to the first of them, a value of zero to the later class of the pair. */
export function vote(parts, values) {
  const count = new Int32Array(16);
  parts.forEach((part, k) => count[part.classes[values[k] >= 0 ? 1 : 0]]++);
  return count.indexOf(Math.max(...count));
}
