// SMO with the second-order choice of the pair (Fan, Chen and Lin 2005): widemargin's default, one pair at a time.

import { choosePair } from "./exact.js";
import { movePair, name, short } from "./pair_event.js";

export function* secondOrder(state) {
  for (;;) {
    const pair = choosePair(state.problem, state.beta, state.f);
    if (!pair || pair.gap <= state.tol) return;
    const why = `${name(pair.i)} has the smallest slope that can rise, ${short(pair.gap)} below the largest that can fall: `
      + `the largest violation. Of all partners, ${name(pair.j)} promises the largest gain, (slope difference)² / 2η = `
      + `${short(pair.gain)}.`;
    const event = movePair(state, pair.i, pair.j, { why, rule: "gain" });
    if (!event) return;
    yield event;
  }
}
