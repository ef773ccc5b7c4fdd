// Platt's SMO of 1998: sweeps over all points, then over the non-bound ones until nothing changes; second choice by
// |E1 - E2| among the non-bound points, then all non-bound points, then all points, from random places.

import { fall, isFree, rise } from "./problem.js";
import { movePair, name, short } from "./pair_event.js";
import { thresholdBetween } from "./pair_step.js";

export function* platt(state) {
  const { problem, beta, f, random } = state;
  const n = problem.n;
  const tol = state.tol / 2; // a threshold between two points: each may miss it by half
  const free = () => [...Array(n).keys()].filter((k) => isFree(problem, beta, k));
  const error = (k) => f[k] + problem.epsilon[k] * Math.sign(beta[k]);
  let [threshold, everything, idle] = [0, true, 0];
  while (idle < 2) {
    let [changed, looked] = [0, 0];
    for (const k of everything ? [...Array(n).keys()] : free()) {
      looked++;
      const [up, down] = [threshold - rise(problem, beta, f, k), fall(problem, beta, f, k) - threshold];
      const violation = Math.max(up, down);
      if (violation <= tol) continue;
      const inside = free();
      const largest = inside.reduce((best, j) =>
        (best < 0 || Math.abs(error(j) - error(k)) > Math.abs(error(best) - error(k)) ? j : best), -1);
      const [from, start] = [random.below(Math.max(1, inside.length)), random.below(n)];
      const candidates = [
        ...(inside.length > 1 ? [[largest, "error"]] : []),
        ...inside.map((_, t) => [inside[(from + t) % inside.length], "random free"]),
        ...Array.from({ length: n }, (_, t) => [(start + t) % n, "random"]),
      ];
      for (const [partner, rule] of candidates) {
        const sweep = everything ? "Sweep over all points" : "Sweep over the non-bound points";
        const how = { error: "has the largest |E₁ − E₂|", "random free": "is the next non-bound point from a random place",
          random: "is the next point from a random place" }[rule];
        const why = `${sweep}, ${looked} looked at: ${name(k)} violates its condition by ${short(violation)}. Its partner, `
          + `${name(partner)}, ${how}.`;
        const event = movePair(state, partner, k, { why, rule: rule === "error" ? "error" : "random", threshold });
        if (!event) continue;
        threshold = thresholdBetween(problem, beta, f, partner, k, isFree);
        changed++;
        looked = 0;
        yield { ...event, first: k, second: partner, free: inside };
        break;
      }
    }
    if (changed) idle = 0;
    else if (everything) {
      idle++;
      threshold = middle(state, threshold);
    }
    everything = !changed; // Platt: non-bound points until none of them changes, then all again
  }
}

/** Halfway between the two thresholds the conditions allow: a guess from the last step may be off at the end. */
function middle({ problem, beta, f }, otherwise) {
  let [low, high] = [-Infinity, Infinity];
  for (let k = 0; k < problem.n; k++) {
    low = Math.max(low, fall(problem, beta, f, k));
    high = Math.min(high, rise(problem, beta, f, k));
  }
  const found = (low + high) / 2;
  return Number.isFinite(found) ? found : otherwise;
}
