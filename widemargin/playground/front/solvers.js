// The solvers that can be watched: generators that work on { problem, beta, f, random, tol } and yield one event per step.
//
// An event says what moved and why:
//   moved, from, to   numbers of the variables with their values before and after
//   first, second     the two choices; -1 where a solver makes none
//   why               a sentence
//   threshold         the threshold the solver compared with, where it keeps one
//   rule              how the partner was chosen: "gain", "error", "random", "extreme" or ""
// They follow widemargin/solvers/reference, in the same order of points; f is kept for all points, which changes no step.

import { adatron } from "./solver_adatron.js";
import { chunking } from "./solver_chunking.js";
import { gradientAscent } from "./solver_gradient.js";
import { platt } from "./solver_platt.js";
import { secondOrder } from "./solver_default.js";
import { simplified } from "./solver_simplified.js";
import { twoThresholds } from "./solver_thresholds.js";

export const SOLVERS = {
  default: {
    label: "second-order SMO", short: "second order", run: secondOrder, groups: Infinity,
    about: "widemargin’s default: first the point that violates most, then the partner with which an exact step gains most.",
    python: null,
  },
  platt: {
    label: "Platt's SMO, 1998", short: "Platt", run: platt, groups: 1,
    about: "Sweeps over all points and over the non-bound ones; the partner has the largest |E₁ − E₂|.",
    python: "platt",
  },
  keerthi: {
    label: "SMO with two thresholds", short: "two thresholds", run: twoThresholds, groups: 1,
    about: "Keeps b_up and b_low instead of one guessed threshold: the pair violates most.",
    python: "keerthi",
  },
  simplified: {
    label: "simplified SMO", short: "simplified", run: simplified, groups: 1,
    about: "The first violator in order, with a random partner.",
    python: "simplified",
  },
  adatron: {
    label: "kernel-Adatron", short: "Adatron", run: adatron, groups: 1, fixedBias: true,
    about: "One multiplier at a time. The bias is penalised: τ² is added to the kernel, so the optimum is a little different.",
    python: "adatron",
  },
  gradient: {
    label: "projected gradient", short: "gradient", run: gradientAscent, groups: Infinity,
    about: "All multipliers at once, along the gradient, back into the box with the sum kept.",
    python: "gradient",
  },
  chunking: {
    label: "chunking", short: "chunking", run: chunking, groups: Infinity,
    about: "Solves the problem of the support vectors so far and the six worst violators, again and again.",
    python: "chunking",
  },
};

/** A sentence that says why a solver cannot solve the problem of a machine, or "". */
export function refusal(solver, machine) {
  const { label, groups, fixedBias } = SOLVERS[solver];
  if (machine === "nusvc" && groups < 2) {
    return `${label} keeps one sum of multipliers, and nu-SVC has two: choose the default, the gradient or chunking.`;
  }
  if (machine === "oneclass" && fixedBias) {
    return `${label} keeps no sum of multipliers; without it a one-class machine has the answer zero. Choose another solver.`;
  }
  return "";
}
