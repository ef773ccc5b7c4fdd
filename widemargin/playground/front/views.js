// The tabs, and what is behind two of them: the kernel matrix and three dimensions.

import { drawKernel } from "./kernel_picture.js";
import { drawLift, isSquare } from "./lift.js";
import { short } from "./pair_event.js";

const TURN = 0.09; // radians for one press of an arrow key

export function addViews(app) {
  const tabs = [...app.root.querySelectorAll("[data-view]")];
  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => app.set({ view: tab.dataset.view }));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = tabs[(k + by + tabs.length) % tabs.length];
      next.focus();
      next.click();
    });
  });
  app.onDraw(() => {
    for (const tab of tabs) {
      const isChosen = tab.dataset.view === app.state.view;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    for (const panel of app.root.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== app.state.view;
  });
  addMatrix(app);
  addLift(app);
}

function addMatrix(app) {
  const canvas = app.find("kernel");
  let drawn = null;
  let key = null;
  canvas.addEventListener("pointermove", (event) => {
    if (!drawn?.n) return;
    const box = canvas.getBoundingClientRect();
    const at = (part, size) => Math.min(drawn.n - 1, Math.max(0, Math.floor((part / size) * drawn.n)));
    tell(drawn.order[at(event.clientY - box.top, box.height)], drawn.order[at(event.clientX - box.left, box.width)]);
  });
  let [row, column] = [0, 0];
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!by || !drawn?.n) return;
    [row, column] = [(row + by[0] + drawn.n) % drawn.n, (column + by[1] + drawn.n) % drawn.n];
    tell(drawn.order[row], drawn.order[column]);
    event.preventDefault();
  });
  const tell = (i, j) => {
    app.find("kernelvalue").textContent = `k(point ${i + 1}, point ${j + 1}) = ${short(drawn.K[i * drawn.n + j])}`;
  };
  app.onDraw(() => {
    if (app.state.view !== "matrix") return;
    const { points, machine, kernel, gamma, degree, coef0 } = app.state;
    const now = [points, machine, kernel, gamma, degree, coef0, app.theme, canvas.clientWidth];
    if (key && now.every((value, k) => value === key[k])) return;
    key = now;
    drawn = drawKernel(canvas, app.state, app.theme);
    const sorted = { svr: "sorted along x", oneclass: "neighbours side by side" }[machine]
      ?? "sorted by class (lines between them), neighbours side by side";
    app.find("kernelabout").textContent = `The kernel’s value for every pair of points, ${sorted}: from ${short(drawn.low)} to `
      + `${short(drawn.high)}, the stronger the colour the larger. Blocks on the diagonal mean that points are similar to their own class; a matrix of `
      + "one shade, or of nothing but its diagonal, means that gamma is too small or too large.";
    canvas.setAttribute("aria-label", `Kernel matrix of ${drawn.n} points, values from ${short(drawn.low)} to ${short(drawn.high)}`);
  });
}

function addLift(app) {
  const svg = app.find("lift");
  const camera = { turn: -0.6, tilt: 0.5 };
  let held = null;
  const turn = (dx, dy) => {
    camera.turn += dx;
    camera.tilt = Math.min(1.45, Math.max(-0.2, camera.tilt + dy));
    app.ask();
  };
  svg.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    turn((event.clientX - held[0]) * 0.01, (event.clientY - held[1]) * 0.01);
    held = [event.clientX, event.clientY];
  });
  svg.addEventListener("pointerup", () => (held = null));
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, -TURN], ArrowDown: [0, TURN] }[event.key];
    if (!by) return;
    turn(...by);
    event.preventDefault();
  });
  app.onDraw((_, parts) => {
    if (app.state.view !== "lift") return;
    const about = app.find("liftabout");
    const { machine, lift } = app.state;
    app.root.querySelector('[data-do="square"]').hidden = lift !== "squares" || isSquare(app.state);
    svg.innerHTML = "";
    if (machine === "svr") {
      about.textContent = "A regression has one input: there is nothing to lift. Choose a machine that has two.";
      return;
    }
    if (!parts && lift === "decision") {
      about.textContent = "";
      return;
    }
    const size = Math.max(220, Math.min(svg.clientWidth, svg.clientHeight) || 420);
    svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
    svg.innerHTML = drawLift(lift, { ...app.picture(parts), parts: parts ?? [] }, { ...camera, size });
    const words = lift === "squares"
      ? `Every point (x₁, x₂) sits at (x₁², √2 x₁x₂, x₂²), where (x′z)² is the inner product. ${isSquare(app.state)
        ? "The boundary, a curve in the plane, is the grey flat plane here." : "With the kernel (x′z)² the boundary is flat here."}`
      : `Height is the decision value${parts.length > 1 ? " of the first pair of classes" : ""}: the boundary is where the surface crosses the dashed plane.`;
    about.textContent = `${words} Drag, or use the arrow keys, to turn it.`;
    svg.setAttribute("aria-label", words);
  });
}
