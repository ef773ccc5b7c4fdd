// The plane without a mouse: a cross that the arrow keys move, points one after the other, and words for each of them.

import { describePoint } from "./inspector.js";
import { addPoint, movePoint, removePoint } from "./pointing.js";
import { short } from "./pair_event.js";

const STEP = 1 / 60; // of the window, for one press of an arrow key
const SPOKEN_MILLISECONDS = 200; // of fitting before a point is spoken of, longer than nearly all fits take
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export function addKeyboard(app) {
  const { svg } = app.plane;
  const speakPoint = () => {
    app.work(SPOKEN_MILLISECONDS);
    if (app.parts) app.speak(describePoint(app.parts, app.state, app.selected).spoken);
  };
  const keys = {
    Enter: () => (app.cursor ? (addPoint(app, app.cursor), app.speak(spokenCount(app))) : showCross(app)),
    Delete: () => app.selected >= 0 && (removePoint(app, app.selected), (app.selected = -1), app.speak(spokenCount(app))),
    Escape: () => Object.assign(app, { selected: -1, cursor: null }),
    n: () => choose(1),
    b: () => choose(-1),
  };
  keys.Backspace = keys.Delete;
  keys[" "] = keys.Enter;
  const choose = (by) => {
    const count = app.state.points.length;
    if (!count) return;
    app.selected = app.selected < 0 ? (by > 0 ? 0 : count - 1) : (app.selected + by + count) % count;
    app.cursor = null;
    speakPoint();
  };
  svg.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "z") app.undo();
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key in ARROWS) arrow(app, ARROWS[event.key], event.shiftKey);
    else if (/^[1-8]$/.test(event.key)) [app.brush] = [Number(event.key) - 1, app.speak(`Class ${event.key}`)];
    else if (event.key in keys) keys[event.key]();
    else return;
    event.preventDefault();
    app.ask();
  });
  svg.addEventListener("blur", () => {
    if (app.cursor) [app.cursor] = [null, app.ask()];
  });
}

function arrow(app, [dx, dy], far) {
  const [x0, x1, y0, y1] = app.window;
  const size = far ? 6 * STEP : STEP;
  const by = ([x, y]) => [x + dx * size * (x1 - x0), y + dy * size * (y1 - y0)];
  if (app.selected >= 0) movePoint(app, app.selected, by(app.state.points[app.selected]));
  else if (!app.cursor) showCross(app);
  else {
    const [x, y] = by(app.cursor);
    app.cursor = [Math.min(x1, Math.max(x0, x)), Math.min(y1, Math.max(y0, y))];
    app.speak(`${short(app.cursor[0])}, ${short(app.cursor[1])}`);
  }
}

function showCross(app) {
  const [x0, x1, y0, y1] = app.window;
  app.cursor = [(x0 + x1) / 2, (y0 + y1) / 2];
  app.speak("Cross in the middle");
}

function spokenCount(app) {
  return `${app.state.points.length} points`;
}
