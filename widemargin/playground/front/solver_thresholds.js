// SMO with two thresholds (Keerthi et al. 2001, modification 2): b_up and b_low are kept over the non-bound points and
// the last pair; after a sweep over all points only their two holders are optimised until they agree.

import { fall, isFree, rise } from "./problem.js";
import { movePair, name, short } from "./pair_event.js";

export function* twoThresholds(state) {
  const { problem, beta, f, tol } = state;
  const n = problem.n;
  let ends = { up: -1, low: -1, rise: Infinity, fall: -Infinity };
  const offer = (k) => {
    const [r, l] = [rise(problem, beta, f, k), fall(problem, beta, f, k)];
    if (r < ends.rise) [ends.rise, ends.up] = [r, k];
    if (l > ends.fall) [ends.fall, ends.low] = [l, k];
    return [r, l];
  };
  const renew = (pair) => {
    const old = [ends.up, ends.low];
    ends = { up: -1, low: -1, rise: Infinity, fall: -Infinity };
    for (let k = 0; k < n; k++) if (isFree(problem, beta, k)) offer(k);
    for (const k of [...old, ...pair]) if (k >= 0) offer(k);
  };
  for (;;) {
    let changed = 0;
    for (let k = 0; k < n; k++) {
      const before = { ...ends };
      const [r, l] = offer(k);
      const [byRise, byFall] = [before.fall - r, l - before.rise];
      const violation = Math.max(byRise, byFall);
      if (violation <= tol) continue;
      const partner = byRise > byFall ? before.low : before.up;
      const which = byRise > byFall ? "b_low" : "b_up";
      const why = `Sweep over all points: ${name(k)} violates ${which} = ${short(byRise > byFall ? before.fall : before.rise)}`
        + ` by ${short(violation)}. Its partner, ${name(partner)}, holds that threshold.`;
      const event = movePair(state, partner, k, { why, rule: "extreme" });
      if (!event) continue;
      changed++;
      renew([partner, k]);
      yield { ...event, first: k, second: partner };
    }
    while (ends.fall - ends.rise > tol) {
      const { up, low } = ends;
      const why = `The two thresholds disagree by b_low − b_up = ${short(ends.fall - ends.rise)}: their holders, ${name(up)} `
        + `(b_up) and ${name(low)} (b_low), are the pair.`;
      const event = movePair(state, low, up, { why, rule: "extreme" });
      if (!event) break;
      changed++;
      renew([low, up]);
      yield { ...event, first: up, second: low };
    }
    if (!changed) return;
  }
}
