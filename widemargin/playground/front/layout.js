// The page's elements, once, as text; everything that changes is found by its data-role.

import { KERNELS } from "./kernels.js";
import { MACHINES } from "./machines.js";
import { CLASS_WORDS, marker } from "./palette.js";
import { PRESETS } from "./presets.js";
import { SOLVERS } from "./solvers.js";
import { MOST_CLASSES, NUMBERS, VIEWS } from "./state.js";

const options = (table, extra = "") => extra + Object.entries(table).map(([name, { label }]) => `<option value="${name}">${label}</option>`).join("");

const chips = Array.from({ length: MOST_CLASSES }, (_, k) => `<button type="button" class="chip" data-class="${k}" aria-pressed="false"
  title="Class ${k + 1} (key ${k + 1})" aria-label="Class ${k + 1}, ${CLASS_WORDS[k]}"><svg viewBox="-9 -9 18 18" aria-hidden="true"><path
  d="${marker(k, 5.5)}"/></svg></button>`).join("");

const TOOLS = { add: ["Place", "Click to place a point, drag a point to move it"], paint: ["Paint", "Drag to paint many points"],
  erase: ["Delete", "Click points to delete them"] };
const tools = Object.entries(TOOLS).map(([name, [label, about]]) => `<button type="button" data-tool="${name}" aria-pressed="false"
  title="${about}">${label}</button>`).join("");

const sliders = Object.entries(NUMBERS).map(([name, { label, least, most, step, log, about }]) => {
  const range = log ? `min="${Math.log10(least)}" max="${Math.log10(most)}" step="0.02"` : `min="${least}" max="${most}" step="${step}"`;
  return `<div class="slider" data-slider="${name}" title="${label}: ${about}"><b>${label}</b><input type="range" ${range} aria-label="${label}, ${about}"><input type="text"
    inputmode="decimal" size="7" aria-label="${label}, typed"></div>`;
}).join("");

const PLAYS = { start: "To the start (Home)", back: "One step back (←)", step: "One step (→)", play: "Play or pause (P)",
  fast: "Fast, or pause (F)", end: "To the end (End)" };
const plays = Object.entries(PLAYS).map(([name, about]) => `<button type="button" data-play="${name}" title="${about}"
  >${name[0].toUpperCase()}${name.slice(1)}</button>`).join("");

const tabs = Object.entries(VIEWS).map(([name, label]) => `<button type="button" role="tab" data-view="${name}" id="wm-tab-${name}"
  aria-controls="wm-view-${name}" aria-selected="false" tabindex="-1">${label}</button>`).join("");

const run = (letter) => `<section class="run" data-run="${letter}"><h3 data-role="runtitle"></h3><p class="why" data-role="why"></p>
  <div class="charts"><svg data-role="bars" role="img"></svg><svg data-role="bars2" role="img"></svg><svg data-role="parabola" role="img"></svg></div></section>`;

export const PAGE = `
<header>
  <h2>SVM toy</h2>
  <label>Example <select data-set="preset"><option value="">your own points</option>${options(PRESETS)}</select></label>
  <div class="group" role="group" aria-label="Data"><button type="button" data-do="csv">Open CSV</button>
  <input type="file" data-role="file" accept=".csv,.tsv,.txt,text/csv" hidden></div>
  <div class="group" role="group" aria-label="Take away"><button type="button" data-do="python">Copy as Python</button><button
  type="button" data-do="link">Copy link</button><button type="button" data-do="png">PNG</button><button type="button"
  data-do="svg">SVG</button></div>
  <label class="theme">Theme <select data-set="theme"><option value="auto">system</option><option value="light">light</option><option
  value="dark">dark</option></select></label>
</header>
<p class="sentence" data-role="sentence" role="status" aria-live="polite" hidden></p>
<div class="body">
<div class="stage">
  <div class="tools"><div class="group chips" role="group" aria-label="Class of new points">${chips}</div>
  <div class="group" role="group" aria-label="Tool">${tools}</div>
  <div class="group"><button type="button" data-do="undo" title="Undo (Ctrl Z)">Undo</button><button type="button" data-do="clear">Clear</button><button
  type="button" data-do="fit" title="Show all points">Fit view</button></div></div>
  <div class="planes"><figure><div class="plane" data-role="plane"></div><figcaption data-role="caption"></figcaption></figure>
  <figure data-role="otherfigure" hidden><div class="plane" data-role="otherplane"></div><figcaption data-role="othercaption"></figcaption></figure></div>
</div>
<div class="side">
  <div class="pair"><label>Machine <select data-set="machine">${options(MACHINES)}</select></label>
  <label>Kernel <select data-set="kernel">${options(KERNELS)}</select></label></div>
  <p class="formula" data-role="formula"></p>
  ${sliders}
  <h3>Certificate <span data-role="source"></span></h3>
  <dl data-role="certificate"></dl>
  <div data-role="verifybox" hidden><button type="button" data-do="verify">Verify with widemargin</button><div class="answer" data-role="answer" aria-live="polite"></div></div>
  <h3>Point</h3>
  <div class="inspector" data-role="inspector"></div>
</div>
</div>
<div class="views">
  <div class="bar"><div role="tablist" aria-label="Views">${tabs}</div><p class="legend" data-role="legend"></p></div>
  <div role="tabpanel" id="wm-view-steps" data-panel="steps" aria-labelledby="wm-tab-steps">
    <div class="playbar"><div class="group" role="group" aria-label="Steps">${plays}</div>
    <label>Solver <select data-set="solver">${options(SOLVERS)}</select></label>
    <label>beside <select data-set="other">${options(SOLVERS, '<option value="">none</option>')}</select></label>
    <label data-role="pairbox">Classes <select data-role="pair"></select></label>
    <button type="button" data-do="optimum">Show the optimum</button></div>
    <p class="about" data-role="about"></p>
    <div class="graphs"><div class="runs">${run("a")}${run("b")}</div>
    <div class="charts curves"><svg data-role="objective" role="img"></svg><svg data-role="gap" role="img"></svg></div></div>
  </div>
  <div role="tabpanel" id="wm-view-matrix" data-panel="matrix" aria-labelledby="wm-tab-matrix" hidden>
    <div class="twocolumns"><canvas data-role="kernel" tabindex="0" role="img"></canvas><div><p data-role="kernelabout"></p><p data-role="kernelvalue" aria-live="polite"></p></div></div>
  </div>
  <div role="tabpanel" id="wm-view-lift" data-panel="lift" aria-labelledby="wm-tab-lift" hidden>
    <div class="twocolumns"><svg data-role="lift" tabindex="0" role="img" class="turns"></svg><div>
    <label>Height <select data-set="lift"><option value="decision">the decision value f(x)</option><option value="squares">φ(x) = (x₁², √2 x₁x₂, x₂²)</option></select></label>
    <p data-role="liftabout"></p><button type="button" data-do="square">Use the kernel (x′z)²</button></div></div>
  </div>
</div>
<details class="help"><summary>Keys and signs</summary>
<p>In the plane: arrow keys move the cross, Enter places a point, 1–8 choose the class; N and B go to the next and the previous point,
arrow keys then move it (Shift: far), Delete removes it, Escape lets go. Ctrl Z takes back. In “Step by step”: → step, ← back, P play,
F fast, Home, End.</p>
<p>A point's size is its multiplier α. A solid ring: 0 &lt; α &lt; C, on its margin. A dashed ring: α = C. No ring: α = 0, it could be
left out. Solid line: f = 0; dashed: f = ±1, or the tube of a regression.</p></details>
<dialog data-role="dialog"></dialog>
<p class="hidden" data-role="spoken" aria-live="assertive"></p>`;
