// Kernel-Adatron with the rate 1 / K_ii: every multiplier in turn goes to the maximum along its own axis, clipped to its
// box. It needs a fixed bias (no sum to keep): the problem has tau^2 added to its kernel (problem.js, withoutSum).
// See Cristianini and Shawe-Taylor (2000), Table 7.1.

import { fall, rise } from "./problem.js";
import { name, short } from "./pair_event.js";

export function* adatron(state) {
  const { problem, beta, f, tol } = state;
  const { n, K, lower, upper, epsilon } = problem;
  for (let pass = 1; ; pass++) {
    let worst = 0;
    for (let i = 0; i < n; i++) {
      const [up, down] = [rise(problem, beta, f, i), fall(problem, beta, f, i)];
      const falls = down > 0 && down >= -up;
      const slope = falls ? down : up;
      if (falls ? !(down > 0) : !(up < 0)) continue;
      worst = Math.max(worst, Math.abs(slope));
      const kink = epsilon[i] > 0;
      const end = falls ? (kink && beta[i] > 0 ? 0 : lower[i]) : kink && beta[i] < 0 ? 0 : upper[i];
      const curvature = K[i * n + i];
      let to = curvature > 0 ? beta[i] - slope / curvature : end;
      to = falls ? Math.max(to, end) : Math.min(to, end);
      if (to === beta[i]) continue;
      const why = `Pass ${pass}: the objective falls along multiplier ${i + 1} with slope ${short(slope)}; it goes to the `
        + `lowest point of its parabola${to === end ? ", clipped to its box" : ""}.`;
      const event = { moved: [i], from: [beta[i]], to: [to], first: i, second: -1, why, rule: "", threshold: 0 };
      const step = to - beta[i];
      for (let t = 0; t < n; t++) f[t] += step * K[i * n + t];
      beta[i] = to;
      if (Math.abs(slope) > tol) yield event;
      else yield { ...event, small: true };
    }
    if (worst <= tol) return;
  }
}
