// What a picture shows of the multipliers: for every point how large, and whether zero, free or at its bound.

import { isFree } from "./problem.js";

/** One { share, kind } for each point: of the parts a point is in, the largest multiplier counts. */
export function multipliersOf(parts, count) {
  const all = Array.from({ length: count }, () => ({ share: 0, kind: "zero" }));
  for (const part of parts) {
    part.index.forEach((i, k) => {
      const b = part.beta[k];
      if (b === 0) return;
      const own = all[i];
      const { lower, upper } = part.problem;
      own.share = Math.max(own.share, Math.min(1, Math.abs(b) / Math.max(upper[k], -lower[k])));
      if (isFree(part.problem, part.beta, k)) own.kind = "free";
      else if (own.kind !== "free") own.kind = "bound";
    });
  }
  // Where C is so large that no multiplier comes near it, sizes are relative to the largest one.
  const largest = Math.max(...all.map((one) => one.share), 0);
  if (largest > 0 && largest < 1) for (const one of all) one.share /= largest;
  return all;
}
