// What is true of one point: multiplier, decision value, slack, and which optimality condition it meets.

import { valuesAt } from "./machines.js";
import { isFree } from "./problem.js";
import { short } from "./pair_event.js";

const MET = 1e-3; // a condition missed by less counts as met, as with tol = 1e-3

/** The facts of point i in one part: { alpha, slack, value, condition, misses }. */
export function factsOf(part, state, i) {
  const k = part.index.indexOf(i);
  const beta = part.beta[k];
  const [x, y] = state.points[i];
  const value = valuesAt([part], state, x, state.machine === "svr" ? 0 : y)[0];
  const kind = beta === 0 ? "zero" : isFree(part.problem, part.beta, k) ? "free" : "bound";
  if (state.machine === "svr") return { ...regression(state, y, value, kind), alpha: beta, value, kind };
  if (state.machine === "oneclass") return { ...margin(value, 0, kind, "f", "1"), alpha: beta, value, kind };
  const bound = state.machine === "nusvc" ? "1" : "C";
  const signed = part.y[k] * value;
  const edge = state.machine === "nusvc" && !(part.rho > 0) ? 0 : 1;
  return { ...margin(signed, edge, kind, "y f", bound), alpha: Math.abs(beta), value, kind };
}

function margin(value, edge, kind, letter, bound) {
  const miss = { zero: Math.max(0, edge - value), free: Math.abs(value - edge), bound: Math.max(0, value - edge) }[kind];
  const condition = {
    zero: `α = 0 asks for ${letter} ≥ ${edge}`, free: `0 < α < ${bound} asks for ${letter} = ${edge}`,
    bound: `α = ${bound} asks for ${letter} ≤ ${edge}`,
  }[kind];
  return { slack: Math.max(0, edge - value), condition, misses: miss };
}

function regression({ epsilon }, y, value, kind) {
  const error = Math.abs(y - value);
  const miss = { zero: Math.max(0, error - epsilon), free: Math.abs(error - epsilon), bound: Math.max(0, epsilon - error) }[kind];
  const condition = {
    zero: "α = 0 asks for |y − f| ≤ ε", free: "0 < α < C asks for |y − f| = ε", bound: "α = C asks for |y − f| ≥ ε",
  }[kind];
  return { slack: Math.max(0, error - epsilon), condition, misses: miss };
}

/** The inspector's HTML for a point, and the same as a sentence for a screen reader. */
export function describePoint(parts, state, i) {
  const [x, y, label] = state.points[i];
  const own = parts.filter((part) => part.index.includes(i));
  const where = `Point ${i + 1}${state.machine === "svr" ? "" : `, class ${label + 1}`}, at (${short(x)}, ${short(y)})`;
  if (!own.length) return { html: `<p>${where}</p>`, spoken: where };
  const all = own.map((part) => ({ part, ...factsOf(part, state, i) }));
  const rows = all.map((fact) => {
    const other = fact.part.classes.length && own.length > 1 ? `<th>${fact.part.classes.map((c) => c + 1).join(" | ")}</th>` : "";
    const met = fact.misses <= MET ? "<b class=\"met\">✓ met</b>" : `<b class="missed">✗ missed by ${short(fact.misses)}</b>`;
    return `<tr>${other}<td>α = ${short(fact.alpha)}</td><td>f = ${short(fact.value)}</td><td>ξ = ${short(fact.slack)}</td></tr>`
      + `<tr class="condition"><td colspan="4">${fact.condition}: ${met}</td></tr>`;
  });
  const first = all[0];
  const spoken = `${where}. Alpha ${short(first.alpha)}, decision value ${short(first.value)}, slack ${short(first.slack)}. `
    + `${first.condition}: ${first.misses <= MET ? "met" : `missed by ${short(first.misses)}`}.`;
  return { html: `<p>${where}</p><table>${rows.join("")}</table>`, spoken };
}
