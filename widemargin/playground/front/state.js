// Everything a person can set, what it may be, and how it is written into the address of the page.
//
// Whatever comes from outside (address, number box, file, Python) passes through `checked`: a value that cannot be used is
// replaced and named in a sentence.

import { KERNELS } from "./kernels.js";
import { MACHINES } from "./machines.js";
import { PRESETS } from "./presets.js";
import { SOLVERS } from "./solvers.js";

export const MOST_POINTS = 300;
export const MOST_CLASSES = 8;
const FARTHEST = 1e6; // coordinate; far beyond, squares in a kernel lose all digits
const NARROWEST = 1e-4; // side of a window; of far narrower ones, ticks and pixels are lost in rounding

export const NUMBERS = {
  C: { label: "C", least: 1e-3, most: 1e5, log: true, about: "the price of errors" },
  gamma: { label: "γ", least: 1e-4, most: 1e3, log: true, about: "how fast a point's influence ends" },
  degree: { label: "degree", least: 1, most: 9, step: 1, about: "of the polynomial" },
  coef0: { label: "r", least: -5, most: 5, step: 0.1, about: "coef0, the constant in the kernel" },
  epsilon: { label: "ε", least: 0, most: 2, step: 0.01, about: "half the width of the tube" },
  nu: { label: "ν", least: 0.01, most: 1, step: 0.01, about: "share of support vectors, at least" },
};
export const VIEWS = { steps: "Step by step", matrix: "Kernel matrix", lift: "Three dimensions" };
const CHOICES = {
  machine: MACHINES, kernel: KERNELS, solver: SOLVERS, other: { "": null, ...SOLVERS }, view: VIEWS,
  preset: { "": null, ...PRESETS }, colour: { class: 0, multiplier: 0 }, theme: { auto: 0, light: 0, dark: 0 },
  lift: { decision: 0, squares: 0 },
};
const PLAIN = {
  machine: "svc", kernel: "rbf", C: 1, gamma: 1, degree: 3, coef0: 1, epsilon: 0.1, nu: 0.5, solver: "default", other: "",
  view: "steps", preset: "", colour: "class", theme: "auto", lift: "decision", pair: 0, points: [], window: null,
};
const LETTERS = {
  machine: "m", kernel: "k", C: "C", gamma: "g", degree: "d", coef0: "r", epsilon: "e", nu: "n", solver: "s", other: "o",
  view: "v", preset: "x", colour: "c", theme: "t", lift: "l", pair: "i", points: "p", window: "w",
};

/** State of an example. */
export function presetState(name) {
  const { points, set } = PRESETS[name];
  return { ...PLAIN, ...set, preset: name, points: points(), window: null };
}

/** The state nearest to a candidate that can be used, and a sentence for everything that had to be changed. */
export function checked(candidate, from = PLAIN) {
  const complaints = [];
  const state = { ...from };
  for (const [name, value] of Object.entries(candidate ?? {})) {
    if (name in CHOICES) {
      if (Object.hasOwn(CHOICES[name], value)) state[name] = value;
      else complaints.push(`There is no ${name} called “${clip(value)}”; it stays “${state[name] || "none"}”.`);
    } else if (name in NUMBERS) {
      state[name] = number(name, value, state[name], complaints);
    } else if (name === "points") state.points = pointsOf(value, complaints);
    else if (name === "window") state.window = windowOf(value);
    else if (name === "pair") state.pair = Number.isInteger(value) && value >= 0 && value < 28 ? value : 0;
  }
  return { state, complaints };
}

function clip(value) {
  const text = String(value);
  return text.length > 24 ? `${text.slice(0, 24)}…` : text;
}

function number(name, value, otherwise, complaints) {
  const { label, least, most, step } = NUMBERS[name];
  const given = typeof value === "number" ? value : typeof value === "string" && value.trim() !== "" ? Number(value) : NaN;
  if (!Number.isFinite(given)) {
    complaints.push(`${label} = “${clip(value)}” is not a number; it stays ${otherwise}.`);
    return otherwise;
  }
  let used = Math.min(most, Math.max(least, given));
  if (step === 1) used = Math.round(used);
  if (used !== given) complaints.push(`${label} = ${clip(given)} is outside what the page shows; ${used} is used.`);
  return used;
}

function pointsOf(value, complaints) {
  const all = Array.isArray(value) ? value : [];
  const good = all.filter((p) => Array.isArray(p) && Number.isFinite(p[0]) && Number.isFinite(p[1])
    && Math.abs(p[0]) <= FARTHEST && Math.abs(p[1]) <= FARTHEST);
  if (good.length < all.length || !Array.isArray(value)) {
    complaints.push(`${Math.max(1, all.length - good.length)} of the points could not be read and are left out.`);
  }
  if (good.length > MOST_POINTS) complaints.push(`${good.length} points are too many: the first ${MOST_POINTS} are shown.`);
  return good.slice(0, MOST_POINTS).map(([x, y, label = 0]) => {
    const known = Number.isInteger(label) && label >= 0 && label < MOST_CLASSES;
    return [x, y, known ? label : 0];
  });
}

function windowOf(value) {
  const good = Array.isArray(value) && value.length === 4 && value.every((v) => Number.isFinite(v) && Math.abs(v) < 1e7);
  return good && value[1] - value[0] >= NARROWEST && value[3] - value[2] >= NARROWEST ? value : null;
}

/** The state as the part of an address after #; an untouched example is named instead of listed. */
export function toAddress(state) {
  const from = state.preset ? presetState(state.preset) : PLAIN;
  const parts = [];
  for (const [name, letter] of Object.entries(LETTERS)) {
    const value = state[name];
    if (name === "points") {
      if (!state.preset) parts.push(`p=${value.map((p) => p.join(",")).join(";")}`);
    } else if (name === "window") {
      if (value && !state.preset) parts.push(`w=${value.map((v) => Number(v.toPrecision(6))).join(",")}`);
    } else if (name === "preset" ? value : value !== from[name]) parts.push(`${letter}=${value}`);
  }
  return parts.join("&");
}

/** The state of an address, with complaints about what could not be used. */
export function fromAddress(hash) {
  const given = {};
  const names = Object.fromEntries(Object.entries(LETTERS).map(([name, letter]) => [letter, name]));
  const unknown = [];
  for (const part of hash.replace(/^#/, "").slice(0, 40000).split("&").filter(Boolean)) {
    const [letter, text = ""] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)];
    const name = Object.hasOwn(names, letter) ? names[letter] : null;
    if (!name) unknown.push(clip(part));
    else if (name === "points") given.points = text.split(";").filter(Boolean).map((p) => p.split(",").map(Number));
    else if (name === "window") given.window = text.split(",").map(Number);
    else if (name === "pair") given.pair = Number(text);
    else given[name] = readable(text);
  }
  const isKnown = Object.hasOwn(PRESETS, given.preset ?? "");
  const start = given.points ? PLAIN : presetState(isKnown ? given.preset : "moons");
  const { state, complaints } = checked(given, start);
  if (!given.points && !isKnown) state.preset = "moons";
  if (unknown.length) complaints.push(`The address says “${unknown[0]}”, which means nothing here.`);
  return { state, complaints };
}

function readable(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
