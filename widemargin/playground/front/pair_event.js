// One step on a pair, applied to a solver's state, as an event.

import { addToGradient, pairStep } from "./pair_step.js";

/** Make the exact step on (i, j); return its event, or null if nothing moves. */
export function movePair(state, i, j, about) {
  if (i === j || i < 0 || j < 0) return null;
  const { problem, beta, f } = state;
  const move = pairStep(problem, beta, f, i, j);
  if (!(move.decrease > 0)) return null;
  const event = { moved: [i, j], from: [beta[i], beta[j]], to: [move.bi, move.bj], first: i, second: j, ...about };
  addToGradient(problem, f, i, move.bi - beta[i], j, move.bj - beta[j]);
  [beta[i], beta[j]] = [move.bi, move.bj];
  return event;
}

/** Numbers for a sentence. */
export function short(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(1) : String(Number(value.toPrecision(3)));
  return text.replace("-", "−").replace("e+", "e").replace("e−", "e−");
}

/** Points are numbered from 1 for people. */
export const name = (i) => `point ${i + 1}`;
