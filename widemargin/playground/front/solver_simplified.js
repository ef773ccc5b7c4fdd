// Simplified SMO (Straka 2019): every violator in order, with a random partner; it ends after passes without a violator.

import { fall, isFree, rise } from "./problem.js";
import { movePair, name, short } from "./pair_event.js";
import { thresholdBetween } from "./pair_step.js";

const PASSES_WITHOUT_CHANGE = 50;
const IDLE_PASSES = 1000; // with violators but without a step: rounding must be the reason

export function* simplified(state) {
  const { problem, beta, f, random } = state;
  const tol = state.tol / 2;
  let [threshold, unchanged, idle, pass] = [0, 0, 0, 0];
  while (unchanged < PASSES_WITHOUT_CHANGE && idle < IDLE_PASSES && problem.n > 1) {
    let [violators, steps] = [0, 0];
    pass++;
    for (let i = 0; i < problem.n; i++) {
      const violation = Math.max(threshold - rise(problem, beta, f, i), fall(problem, beta, f, i) - threshold);
      if (violation <= tol) continue;
      violators++;
      const j = (i + 1 + random.below(problem.n - 1)) % problem.n;
      const why = `Pass ${pass}: ${name(i)} violates its condition by ${short(violation)}. Its partner, ${name(j)}, is random.`;
      const event = movePair(state, i, j, { why, rule: "random", threshold });
      threshold = thresholdBetween(problem, beta, f, i, j, isFree);
      if (!event) continue;
      steps++;
      yield event;
    }
    unchanged = violators ? 0 : unchanged + 1;
    idle = steps ? 0 : idle + 1;
  }
}
