// The certificate in numbers, the margin, the point under the pointer, the caption and the legend.

import { combine } from "./machines.js";
import { describePoint } from "./inspector.js";
import { short } from "./pair_event.js";
import { SOLVERS } from "./solvers.js";

export function addCertificatePanel(app) {
  app.onDraw((_, parts) => {
    showCertificate(app, parts);
    showPoint(app, parts);
    showCaptions(app, parts);
    showLegend(app);
  });
}

function showCertificate(app, parts) {
  const source = app.watching ? "of the solver’s point" : app.fit && !app.fit.done ? "still improving …" : "of the optimum";
  app.find("source").textContent = parts ? source : "";
  const list = app.find("certificate");
  if (!parts) {
    list.innerHTML = "";
    return;
  }
  const used = new Set();
  for (const part of parts) part.index.forEach((i, k) => part.beta[k] !== 0 && used.add(i));
  const all = combine(parts.map((part) => part.certificate), used.size);
  const convex = parts.every((part) => part.certificate.relative > -1e-9) && app.state.kernel !== "sigmoid";
  const rows = [
    ["largest violation", short(all.violation), "by how much any point misses its optimality condition"],
    [convex ? "relative gap" : "relative gap, if convex", short(all.relative), "(primal − dual) / the larger: the optimum lies between them"],
    ["objective (dual)", long(all.objective), "the value that is maximised"],
    ["primal, at most", long(all.primal), "no machine is better than the dual value, this one costs so much"],
    ["support vectors", `${all.support} of ${app.state.points.length}`, "points with α > 0"],
    [`multipliers free, at ${app.state.machine === "svc" || app.state.machine === "svr" ? "C" : "1"}`,
      `${all.free}, ${all.multipliers - all.free}${parts.length > 1 ? ` in ${parts.length} pairs` : ""}`, "inside their box, and at its end"],
    ...margin(app, parts),
  ];
  list.innerHTML = rows.map(([name, value, about]) => `<div title="${about}"><dt>${name}</dt><dd>${value}</dd></div>`).join("");
}

/** |w| and the width of the margin, for a single two-class machine. */
function margin({ state }, parts) {
  if (parts.length > 1) return [];
  const [{ norm, rho }] = parts;
  if (state.machine === "svr") return [["|w|", short(norm), "length of the weight vector in feature space"]];
  const rows = [];
  if (state.machine !== "oneclass") {
    rows.push(["|w|, margin 2 / |w|", `${short(norm)}, ${norm > 0 ? short(2 / norm) : "∞"}`, "the distance of the dashed lines in feature space"]);
  }
  if (state.machine === "nusvc") rows.push(["ρ", short(rho), "margin before scaling to one"]);
  if (state.machine === "oneclass") rows.push(["ρ / |w|", short(parts[0].levels[0] / norm), "distance of the boundary from the origin"]);
  return rows;
}

/** Seven digits, whatever the size. */
const long = (value) => Number(value.toPrecision(7)).toString().replace("-", "−");

function showPoint(app, parts) {
  const i = app.hover >= 0 ? app.hover : app.selected;
  const box = app.find("inspector");
  const html = parts && i >= 0 ? describePoint(parts, app.state, i).html
    : "<p class=\"quiet\">Point at a point, or tap it, to see its multiplier, slack and condition.</p>";
  if (box.innerHTML !== html) box.innerHTML = html;
}

function showCaptions(app) {
  const words = (player) => {
    const row = player.record[player.position];
    return `<b>${SOLVERS[player.solver].label}</b>, step ${player.position}${player.ended && player.position === player.events.length ? " (end)" : ""}: `
      + `objective ${long(row.objective)}, gap ${short(row.gap)}`;
  };
  app.find("caption").innerHTML = app.watching ? words(app.players[0]) : "";
  app.find("othercaption").innerHTML = app.watching && app.players[1] ? words(app.players[1]) : "";
}

function showLegend(app) {
  const { theme, state } = app;
  const dot = (look) => `<svg viewBox="-9 -9 18 18" aria-hidden="true">${look}</svg>`;
  const byMultiplier = state.colour === "multiplier";
  const fill = (kind) => (byMultiplier ? theme[kind] : theme.zero);
  const bound = state.machine === "svc" || state.machine === "svr" ? "C" : "1";
  const html = `${dot(`<circle r="3.6" fill="${fill("zero")}"/>`)} α = 0 ${dot(`<circle r="6" fill="${fill("free")}" stroke="${theme.ink}" stroke-width="2"/>`)} free `
    + `${dot(`<circle r="7" fill="${fill("bound")}" stroke="${theme.ink}" stroke-width="2" stroke-dasharray="2.2 1.6"/>`)} α = ${bound} `
    + `<label><select data-legend aria-label="Colour of points"><option value="class">coloured by class</option><option value="multiplier">coloured by multiplier</option></select></label>`;
  const legend = app.find("legend");
  const key = `${theme.dark}${bound}${byMultiplier}`;
  if (legend.dataset.key === key) return;
  legend.dataset.key = key;
  legend.innerHTML = html;
  const menu = legend.querySelector("select");
  menu.value = state.colour;
  menu.addEventListener("change", () => app.set({ colour: menu.value }));
}
