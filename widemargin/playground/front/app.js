// The page as a whole: one state, one fit, one loop that draws. Parts of the page change the state by `set`; whatever
// follows from it is drawn in the next frame.

import { Fit, describe, obstacle } from "./machines.js";
import { multipliersOf } from "./picture.js";
import { themeOf } from "./palette.js";
import { Plane, windowAround } from "./plane.js";
import { Player } from "./player.js";
import { refusal } from "./solvers.js";
import { checked, presetState } from "./state.js";

const FIT_MILLISECONDS = 9; // of a frame; a fit that needs longer goes on in the next one, and the picture shows how far it is
const OF_POINTS = ["points", "machine"];
const OF_FIT = [...OF_POINTS, "kernel", "C", "gamma", "degree", "coef0", "epsilon", "nu"];
const OF_STEPS = [...OF_FIT, "solver", "other", "pair"];

export class App {
  constructor(root) {
    this.root = root;
    this.listeners = [];
    this.find = (role) => root.querySelector(`[data-role="${role}"]`);
    this.plane = new Plane(this.find("plane"), "Plane of points: arrow keys move a cross, Enter places a point, N goes to the next point");
    this.otherPlane = new Plane(this.find("otherplane"), "The same points with the other solver");
    this.otherPlane.svg.setAttribute("role", "img");
    this.otherPlane.svg.removeAttribute("tabindex");
    Object.assign(this, { state: presetState("moons"), fit: null, problem: "", complaint: "", players: null, watching: false });
    Object.assign(this, { hover: -1, selected: -1, cursor: null, past: [], dirty: true, waiting: false, drawn: 0 });
  }

  /** Be told after every drawn frame, with the names of what changed since the last one. */
  onDraw(listener) {
    this.listeners.push(listener);
  }

  /** Change the state. `keep`: whether Undo takes the change of points back. */
  set(changes, { keep = true } = {}) {
    const { state, complaints } = checked(changes, this.state);
    if (keep && "points" in changes) this.past = [...this.past.slice(-99), [this.state.points, this.state.preset]];
    if ("points" in changes && !("preset" in changes)) state.preset = "";
    this.take(state, complaints.join(" "), Object.keys(changes));
  }

  /** Take over a whole state, as of an example or an address. */
  take(state, complaint = "", changed = Object.keys(state)) {
    this.state = state;
    this.complaint = complaint;
    if (changed.some((name) => OF_FIT.includes(name))) this.dirty = true;
    if (changed.some((name) => OF_STEPS.includes(name))) this.forgetSteps();
    if (this.selected >= state.points.length) this.selected = -1;
    if (this.hover >= state.points.length) this.hover = -1;
    this.ask();
  }

  usePreset(name) {
    const { theme, colour, view, solver, other } = this.state;
    this.past = [...this.past.slice(-99), [this.state.points, this.state.preset]];
    this.take({ ...presetState(name), theme, colour, view, solver, other });
    this.window = null;
  }

  undo() {
    const last = this.past.pop();
    if (last) this.take({ ...this.state, points: last[0], preset: last[1] }, "", ["points"]);
  }

  forgetSteps() {
    [this.players, this.watching] = [null, false];
  }

  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.frame());
  }

  frame() {
    this.waiting = false;
    if (!this.plane.host.isConnected) return;
    this.work(FIT_MILLISECONDS);
    this.draw();
    if (this.fit && !this.fit.done) this.ask();
  }

  /** Fit, or continue to fit; what cannot be fitted leaves a sentence. */
  work(milliseconds) {
    if (this.dirty) {
      this.dirty = false;
      this.problem = obstacle(this.state);
      const before = this.fit;
      this.fit = null;
      if (this.problem) return;
      try {
        this.fit = new Fit(this.state, before);
      } catch (error) {
        this.problem = error.message;
        return;
      }
    }
    if (this.fit && (!this.fit.done || !this.fit.parts[0].certificate)) this.fit.improve(milliseconds);
  }

  /** The players of the chosen solver and of the one beside it, made when first needed; a sentence if there is none. */
  watch() {
    if (this.players) return "";
    if (this.dirty) this.work(FIT_MILLISECONDS);
    if (!this.fit) return this.problem;
    const chosen = [this.state.solver, ...(this.state.other ? [this.state.other] : [])];
    const no = chosen.map((solver) => refusal(solver, this.state.machine)).find(Boolean);
    if (no) return no;
    const part = this.watchedPart;
    this.players = chosen.map((solver) => new Player(part.problem, solver));
    return "";
  }

  get watchedPart() {
    return this.fit.parts[Math.min(this.state.pair, this.fit.parts.length - 1)];
  }

  /** Fit of a player's point: the part with its multipliers, as if it were a finished fit. */
  partOf(player) {
    return describe({ ...this.watchedPart, problem: player.problem }, this.state.machine, player.beta);
  }

  get parts() {
    if (!this.fit) return null;
    return this.watching ? [this.partOf(this.players[0])] : this.fit.parts;
  }

  get theme() {
    return themeOf(this.state.theme);
  }

  /** Everything a plane draws. */
  picture(parts, player = null) {
    const multipliers = multipliersOf(parts ?? [], this.state.points.length);
    const event = player?.last;
    const index = parts?.[0]?.index;
    const marks = event && index && {
      first: event.first < 0 ? -1 : index[event.first], second: event.second < 0 ? -1 : index[event.second],
      set: (event.set ?? []).map((k) => index[k]),
    };
    const dimmed = player && parts.length === 1 && index.length < this.state.points.length
      ? (i) => !index.includes(i) : null;
    const slackOf = this.state.machine === "svr" && parts?.length ? this.slacks(parts) : null;
    return {
      state: this.state, parts, theme: this.theme, window: this.window, ratio: this.ratio, multiplier: (i) => multipliers[i], marks, dimmed,
      slackOf, hover: this.hover, selected: this.selected, cursor: this.cursor,
    };
  }

  slacks([part]) {
    const { f } = part.certificate; // K b - y; with the bias it is f(x) - y
    return (i) => {
      const error = -(f[i] + part.bias);
      return Math.sign(error) * Math.max(0, Math.abs(error) - this.state.epsilon);
    };
  }

  /** The window: as given, or around the points; it stays while points are placed. */
  look() {
    const ratio = this.plane.measure();
    if (this.state.window) this.window = this.state.window;
    else if (!this.window || !(Math.abs(this.ratio - ratio) < 1e-6)) {
      this.window = windowAround(this.state.points, this.state.machine, ratio);
      this.ratio = ratio;
    }
  }

  fitView() {
    this.state = { ...this.state, window: null };
    this.window = null;
    this.ask();
  }

  draw() {
    this.look();
    this.root.dataset.theme = this.theme.dark ? "dark" : "light";
    const parts = this.parts;
    this.plane.draw(this.picture(parts, this.watching ? this.players[0] : null));
    const beside = this.watching && this.players[1];
    this.find("otherfigure").hidden = !beside;
    if (beside) this.otherPlane.draw(this.picture([this.partOf(beside)], beside));
    this.drawn++;
    for (const listener of this.listeners) listener(this, parts);
  }

  /** Say something to whoever cannot see it. */
  speak(text) {
    this.find("spoken").textContent = text;
  }
}
