// Menus, sliders, number boxes and buttons: each shows the state and changes it.

import { KERNELS } from "./kernels.js";
import { MACHINES, remark } from "./machines.js";
import { pythonCode } from "./python_code.js";
import { NUMBERS, toAddress } from "./state.js";
import { copyText, pngBlob, saveFile, svgText } from "./take_away.js";

const FORMULAS = {
  linear: "k(x, z) = x′z", poly: "k(x, z) = (γ x′z + r)^d", rbf: "k(x, z) = exp(−γ |x − z|²)",
  sigmoid: "k(x, z) = tanh(γ x′z + r), not always a kernel", laplacian: "k(x, z) = exp(−γ |x − z|₁)",
};
const DIGITS = 3; // of a slider's value, so that code and addresses stay short

export function addControls(app) {
  const { root } = app;
  for (const menu of root.querySelectorAll("[data-set]")) {
    menu.addEventListener("change", () => {
      const name = menu.dataset.set;
      if (name === "preset") {
        if (menu.value) app.usePreset(menu.value);
      } else app.set({ [name]: menu.value });
      if (name === "machine") app.fitView();
    });
  }
  for (const box of root.querySelectorAll("[data-slider]")) addSlider(app, box);
  addButtons(app);
  app.onDraw(show);
}

function addSlider(app, box) {
  const name = box.dataset.slider;
  const { log } = NUMBERS[name];
  const [range, text] = box.querySelectorAll("input");
  range.addEventListener("input", () => {
    const raw = Number(range.value);
    app.set({ [name]: Number((log ? 10 ** raw : raw).toPrecision(DIGITS)) });
  });
  text.addEventListener("change", () => {
    app.set({ [name]: text.value.replace(",", ".") });
    text.value = app.state[name];
  });
}

function addButtons(app) {
  const actions = {
    undo: () => app.undo(),
    clear: () => app.set({ points: [] }),
    fit: () => app.fitView(),
    optimum: () => {
      app.watching = false;
      app.ask();
    },
    python: () => offer(app, pythonCode(app.state, app.window), "The program is in the clipboard."),
    link: () => offer(app, address(app), "The link is in the clipboard: it holds all points and settings."),
    svg: () => saveFile("svm.svg", new Blob([svgText(app.plane, app.theme)], { type: "image/svg+xml" })),
    png: async () => saveFile("svm.png", await pngBlob(app.plane, app.theme)),
    square: () => app.set({ kernel: "poly", degree: 2, coef0: 0 }),
  };
  for (const [name, action] of Object.entries(actions)) {
    app.root.querySelector(`[data-do="${name}"]`).addEventListener("click", action);
  }
}

/** The address of this very page and state; in a notebook, where the page is not ours, only the part after #. */
function address(app) {
  return app.isPage ? `${location.href.split("#")[0]}#${toAddress(app.state)}` : `#${toAddress(app.state)}`;
}

/** Copy a text; where that is not allowed, show it. */
async function offer(app, text, done) {
  if (await copyText(text)) {
    app.complaint = done;
    app.ask();
    return;
  }
  const dialog = app.find("dialog");
  dialog.innerHTML = '<p>Copy this:</p><textarea readonly rows="16"></textarea><form method="dialog"><button>Close</button></form>';
  dialog.onclose = null; // of a table
  dialog.querySelector("textarea").value = text;
  dialog.showModal();
  dialog.querySelector("textarea").select();
}

/** Bring menus, sliders and the sentence up to date. */
function show(app) {
  const { root, state } = app;
  for (const menu of root.querySelectorAll("[data-set]")) if (menu.value !== state[menu.dataset.set]) menu.value = state[menu.dataset.set];
  const used = new Set([...KERNELS[state.kernel].parameters, ...MACHINES[state.machine].parameters]);
  for (const box of root.querySelectorAll("[data-slider]")) {
    const name = box.dataset.slider;
    box.hidden = !used.has(name);
    const [range, text] = box.querySelectorAll("input");
    const value = NUMBERS[name].log ? Math.log10(state[name]) : state[name];
    if (document.activeElement !== range) range.value = value;
    if (document.activeElement !== text) text.value = state[name];
    range.setAttribute("aria-valuetext", String(state[name]));
  }
  app.find("formula").textContent = FORMULAS[state.kernel];
  const sentence = app.find("sentence");
  const seen = !app.watching && app.fit?.done ? remark(app.fit.parts) : "";
  const words = [app.problem, seen, app.complaint].filter(Boolean).join(" ");
  if (sentence.textContent !== words) sentence.textContent = words;
  sentence.hidden = !words;
}
