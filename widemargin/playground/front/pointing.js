// Mouse, pen and finger in the plane: place, drag, delete, paint, hover.

import { MOST_POINTS } from "./state.js";

const PAINT_EVERY = 60; // milliseconds between two painted points
const PAINT_RADIUS = 26; // pixels within which they fall
const TAP = 5; // pixels that a click may move

const round = (value) => Number(value.toPrecision(4));

export function addPointing(app) {
  const { svg } = app.plane;
  Object.assign(app, { tool: "add", brush: 0 });
  let held = null; // { kind, i, at, moved, painted }
  const place = (event) => {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const put = (px, py, keep) => addPoint(app, app.plane.at(px, py), keep);

  svg.addEventListener("pointerdown", (event) => {
    if (event.button > 0 && event.button !== 2) return;
    const [px, py] = place(event);
    const i = app.plane.nearest(app.state.points, px, py, event.pointerType === "touch" ? 22 : 13);
    svg.setPointerCapture(event.pointerId);
    app.cursor = null;
    if (app.tool === "erase" || event.button === 2 || event.shiftKey) {
      if (i >= 0) removePoint(app, i);
      held = { kind: "erase" };
    } else if (app.tool === "paint") {
      put(px, py, true);
      held = { kind: "paint", painted: performance.now() };
    } else if (i >= 0) held = { kind: "drag", i, at: [px, py], moved: false };
    else {
      put(px, py, true);
      held = { kind: "placed" };
    }
    event.preventDefault();
    svg.focus({ preventScroll: true });
  });

  svg.addEventListener("pointermove", (event) => {
    const [px, py] = place(event);
    if (held?.kind === "drag") {
      if (!held.moved && Math.hypot(px - held.at[0], py - held.at[1]) < TAP) return;
      movePoint(app, held.i, app.plane.at(px, py), !held.moved);
      held.moved = true;
    } else if (held?.kind === "paint") {
      if (performance.now() - held.painted < PAINT_EVERY) return;
      held.painted = performance.now();
      const [angle, radius] = [2 * Math.PI * Math.random(), PAINT_RADIUS * Math.sqrt(Math.random())];
      put(px + radius * Math.cos(angle), py + radius * Math.sin(angle), false);
    } else if (held?.kind === "erase") {
      const i = app.plane.nearest(app.state.points, px, py, 8);
      if (i >= 0) removePoint(app, i);
    } else {
      const i = app.plane.nearest(app.state.points, px, py);
      if (i !== app.hover) {
        app.hover = i;
        app.ask();
      }
    }
  });

  const release = () => {
    if (held?.kind === "drag" && !held.moved) {
      app.selected = app.selected === held.i ? -1 : held.i; // a tap holds the point in the inspector
      app.ask();
    }
    held = null;
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);
  svg.addEventListener("contextmenu", (event) => event.preventDefault());
  svg.addEventListener("pointerleave", () => {
    if (app.hover >= 0) [app.hover] = [-1, app.ask()];
  });

  const buttons = (selector, name) => app.root.querySelectorAll(selector).forEach((button) => button.addEventListener("click", () => {
    app[name] = name === "brush" ? Number(button.dataset.class) : button.dataset.tool;
    if (name === "brush" && app.tool === "erase") app.tool = "add";
    app.ask();
  }));
  buttons("[data-class]", "brush");
  buttons("[data-tool]", "tool");
  app.onDraw(() => {
    const { theme, root, brush, tool, state } = app;
    const isLabelled = state.machine === "svc" || state.machine === "nusvc";
    for (const chip of root.querySelectorAll("[data-class]")) {
      const k = Number(chip.dataset.class);
      chip.setAttribute("aria-pressed", String(k === brush));
      chip.querySelector("path").setAttribute("fill", theme.colours[k]);
    }
    root.querySelector(".chips").hidden = !isLabelled;
    for (const button of root.querySelectorAll("[data-tool]")) button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    app.plane.svg.dataset.tool = tool;
  });
}

export function addPoint(app, [x, y], keep = true) {
  const { points, machine } = app.state;
  if (points.length >= MOST_POINTS) {
    app.complaint = `There is room for ${MOST_POINTS} points: delete some first.`;
    app.ask();
    return;
  }
  const label = machine === "svc" || machine === "nusvc" ? app.brush : 0;
  app.set({ points: [...points, [round(x), round(y), label]] }, { keep });
}

export function movePoint(app, i, [x, y], keep = true) {
  app.set({ points: app.state.points.map((p, k) => (k === i ? [round(x), round(y), p[2]] : p)) }, { keep });
}

export function removePoint(app, i) {
  app.set({ points: app.state.points.filter((_, k) => k !== i) });
}
