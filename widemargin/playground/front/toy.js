// The front-end: `render({ model, el })`, in anywidget's form. The model holds what Python and the page share:
//
//   points      [[x, y, class], ...]                parameters  { machine, kernel, C, ... }
//   request     { number, points, parameters }      answer      { number, text, agrees }      home  "file", "server", "notebook"

import { App } from "./app.js";
import { addCertificatePanel } from "./certificate_panel.js";
import { addControls } from "./controls.js";
import { addKeyboard } from "./keyboard.js";
import { PAGE } from "./layout.js";
import { addPointing } from "./pointing.js";
import { addStepping } from "./stepping.js";
import { checked, fromAddress, toAddress } from "./state.js";
import { addTableDialog, openTable } from "./table_dialog.js";
import { addViews } from "./views.js";

const FITTED = ["machine", "kernel", "C", "gamma", "degree", "coef0", "epsilon", "nu"];
const PARAMETERS = [...FITTED, "solver", "other", "view", "theme", "colour"];
const QUIET = 250; // milliseconds without a change before the address and the model hear of it

export function render({ model, el }) {
  el.innerHTML = `<div class="wm-toy">${PAGE}</div>`;
  const app = new App(el.firstChild);
  app.isPage = model.get("home") !== "notebook";
  el.toy = app;
  [addControls, addPointing, addKeyboard, addCertificatePanel, addStepping, addViews, addTableDialog].forEach((add) => add(app));
  begin(app, model);
  addVerification(app, model);
  share(app, model);
  const again = () => app.ask();
  const resized = new ResizeObserver(again);
  resized.observe(el.firstChild);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", again);
  app.ask();
  return () => {
    resized.disconnect();
    scheme.removeEventListener("change", again);
  };
}

/** The first state: of the address, else of the model, else the moons. */
function begin(app, model) {
  const points = model.get("points");
  if (app.isPage && location.hash.length > 1) {
    const { state, complaints } = fromAddress(location.hash);
    app.take(state, complaints.join(" "));
  } else {
    if (points?.length) app.take(checked({ points }, { ...app.state, preset: "", window: null }).state);
    const { state, complaints } = checked(model.get("parameters") ?? {}, app.state);
    app.take(state, complaints.join(" "));
    const table = model.get("table");
    if (table) openTable(app, table.text, table.name, table);
  }
}

/** Changes travel both ways: to the address and the model after a quiet moment, from them at once. */
function share(app, model) {
  const parametersOf = (state) => Object.fromEntries(PARAMETERS.map((name) => [name, state[name]]));
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  let [timer, written] = [0, app.state];
  app.onDraw(() => {
    if (app.state === written) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      written = app.state;
      if (app.isPage) history.replaceState(null, "", `#${toAddress(app.state)}`);
      if (!same(model.get("points"), written.points)) model.set("points", written.points);
      if (!same(model.get("parameters"), parametersOf(written))) model.set("parameters", parametersOf(written));
      model.save_changes();
    }, QUIET);
  });
  model.on("change:points", () => {
    if (!same(model.get("points"), app.state.points)) app.set({ points: model.get("points"), window: null });
  });
  model.on("change:parameters", () => {
    if (!same(model.get("parameters"), parametersOf(app.state))) app.set(model.get("parameters"));
  });
  if (app.isPage) {
    window.addEventListener("hashchange", () => {
      const { state, complaints } = fromAddress(location.hash);
      app.window = null;
      app.take(state, complaints.join(" "));
    });
  }
}

/** Ask Python to fit the same points, where there is a Python to ask. */
function addVerification(app, model) {
  if (model.get("home") === "file") return;
  app.find("verifybox").hidden = false;
  const answer = app.find("answer");
  let number = model.get("request")?.number ?? 0; // of another view: an equal request would not be sent
  let asked = null;
  let waiting = false;
  app.root.querySelector('[data-do="verify"]').addEventListener("click", () => {
    [waiting, asked] = [true, null];
    answer.textContent = "Waiting for the page’s own fit …";
    app.ask();
  });
  const send = (fit) => {
    number++;
    asked = app.state;
    answer.textContent = "Fitting …";
    const { points } = app.state;
    const parameters = Object.fromEntries(FITTED.map((name) => [name, app.state[name]]));
    model.set("request", { number, points, parameters, objective: fit.certificate.objective, support: fit.certificate.support });
    model.save_changes();
  };
  model.on("change:answer", () => {
    const found = model.get("answer");
    if (found?.number === number) answer.textContent = found.text;
  });
  app.onDraw(() => {
    if (asked && ["points", ...FITTED].some((name) => app.state[name] !== asked[name])) {
      [answer.textContent, asked] = ["", null];
      number++; // an answer on its way is about what was
    }
    if (!waiting || (app.fit && !app.fit.done)) return;
    [waiting, answer.textContent] = [false, ""];
    if (app.fit) send(app.fit);
  });
}

export default { render };
