// "Step by step": the buttons, what each step did and why, and the curves.

import { alongStep, barChart, before, curvesChart, parabolaChart, reasons } from "./charts.js";
import { short } from "./pair_event.js";
import { SOLVERS, refusal } from "./solvers.js";

const PLAY_PAUSE = 450; // milliseconds between two steps of Play
const FAST_SHARE = 150; // Fast makes so many frames of a run: long ones take more steps per frame
const END_MILLISECONDS = 30; // of a frame while running to the end

export function addStepping(app) {
  const { root } = app;
  let timer = 0;
  let mode = ""; // "", "play", "fast", "end"
  const stop = () => {
    clearTimeout(timer);
    mode = "";
  };
  const begin = () => {
    const no = app.watch();
    if (no) {
      app.complaint = no;
      app.ask();
      return false;
    }
    app.complaint = "";
    app.watching = true;
    return true;
  };
  const forward = () => app.players.map((player) => player.forward()).some(Boolean);
  const actions = {
    start: () => app.players.forEach((player) => player.goTo(0)),
    back: () => app.players.forEach((player) => player.position === Math.max(...app.players.map((p) => p.position)) && player.back()),
    step: forward,
  };
  const tick = () => {
    if (!mode || !app.players || !root.isConnected) return stop();
    let more;
    if (mode === "end") more = app.players.map((player) => !player.finish(END_MILLISECONDS)).some(Boolean);
    else {
      const steps = mode === "fast" ? 1 + Math.floor(Math.max(...app.players.map((p) => p.position)) / FAST_SHARE) : 1;
      for (let k = 0; k < steps; k++) more = forward();
    }
    if (!more) stop();
    app.ask();
    if (mode) timer = setTimeout(tick, mode === "play" ? PLAY_PAUSE : 16);
    return undefined;
  };
  const press = (name) => {
    const running = mode;
    stop();
    if (!begin()) return;
    if (name in actions) actions[name]();
    else if (running !== name) {
      mode = name;
      tick();
    }
    app.ask();
    if (name in actions) app.speak(app.players[0].last?.why ?? "Start");
  };
  app.press = press;
  for (const button of root.querySelectorAll("[data-play]")) button.addEventListener("click", () => press(button.dataset.play));
  const KEYS = { ArrowRight: "step", ArrowLeft: "back", p: "play", f: "fast", Home: "start", End: "end" };
  root.querySelector('[data-panel="steps"]').addEventListener("keydown", (event) => {
    if (!(event.key in KEYS) || /SELECT|INPUT/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return;
    press(KEYS[event.key]);
    event.preventDefault();
  });
  app.find("pair").addEventListener("change", (event) => app.set({ pair: Number(event.target.value) }));
  app.onDraw(() => {
    for (const button of root.querySelectorAll("[data-play]")) button.setAttribute("aria-pressed", String(button.dataset.play === mode));
    root.querySelector('[data-do="optimum"]').disabled = !app.watching;
    if (app.state.view === "steps") show(app);
  });
}

function show(app) {
  const { state, players, theme } = app;
  showPairs(app);
  const chosen = [state.solver, ...(state.other ? [state.other] : [])];
  app.find("about").hidden = app.watching;
  app.find("about").textContent = chosen.map((name) => refusal(name, state.machine) || SOLVERS[name].about).join(" ");
  app.root.querySelector(".graphs").classList.toggle("two", Boolean(state.other));
  const runs = app.root.querySelectorAll("[data-run]");
  runs.forEach((run, at) => {
    run.hidden = at > 0 && !state.other;
    if (run.hidden) return;
    run.querySelector('[data-role="runtitle"]').textContent = chosen.length > 1 ? SOLVERS[chosen[at]].label : "";
    run.querySelector(".charts").hidden = !players?.[at];
    if (players?.[at]) showRun(run, players[at], theme);
    else {
      run.querySelector('[data-role="why"]').textContent = app.fit
        ? "Press Step: the solver begins with all multipliers at their start, and says why it chose each pair." : "";
    }
  });
  showCurves(app);
}

function showPairs(app) {
  const parts = app.fit?.parts ?? [];
  app.find("pairbox").hidden = parts.length < 2;
  const menu = app.find("pair");
  const html = parts.map(({ classes }, k) => `<option value="${k}">${classes.map((c) => c + 1).join(" and ")}</option>`).join("");
  if (menu.innerHTML !== html) menu.innerHTML = html;
  menu.value = String(Math.min(app.state.pair, parts.length - 1));
}

function showRun(run, player, theme) {
  const made = player.last;
  const event = made ?? player.peek();
  const why = run.querySelector('[data-role="why"]');
  const [bars, bars2, parabola] = ["bars", "bars2", "parabola"].map((role) => run.querySelector(`[data-role="${role}"]`));
  if (!event) {
    why.textContent = "The start is the optimum already: there is no step to make.";
    return [bars, bars2, parabola].forEach((chart) => (chart.innerHTML = ""));
  }
  const isEnd = made && player.ended && player.position === player.events.length;
  const end = isEnd ? ` This was the last step${player.full ? " that is recorded" : ""}: the largest violation is `
    + `${short(player.record[player.position].violation)}.` : "";
  const words = `${made ? "" : "Next: "}${event.why}${end}`;
  why.textContent = words[0].toUpperCase() + words.slice(1);
  const point = before(player, event, Boolean(made));
  const charts = reasons(player.problem, point, event);
  bars2.toggleAttribute("hidden", charts.length < 2);
  draw(bars, (w, h) => barChart(charts[0], event, theme, w, h), `Bars: ${charts[0].title}`);
  if (charts[1]) draw(bars2, (w, h) => barChart(charts[1], event, theme, w, h), `Bars: ${charts[1].title}`);
  const along = alongStep(player.problem, point, event);
  draw(parabola, (w, h) => parabolaChart(along, theme, w, h),
    `The objective along the step: it falls by ${short(-along.value(along.made))}`);
  return undefined;
}

function draw(svg, chart, label) {
  const [width, height] = [Math.max(160, svg.clientWidth || 300), 150];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", label);
  svg.innerHTML = chart(width, height);
}

function showCurves(app) {
  const [objective, gap] = [app.find("objective"), app.find("gap")];
  app.root.querySelector(".curves").hidden = !app.players;
  if (!app.players) return;
  const { theme } = app;
  const runs = app.players.map((player, at) => ({
    record: player.record, position: player.position, colour: theme.colours[at],
  }));
  const goal = app.fit.done ? app.watchedPart.certificate.objective : null;
  const names = app.players.length > 1 ? `: ${app.players.map((p, at) => `${SOLVERS[p.solver].short} ${at ? "dashed" : "solid"}`).join(", ")}` : "";
  draw(objective, (w, h) => curvesChart(runs, "objective", `objective${names || "; dotted: the optimum"}`, theme, w, h, goal), "Objective after every step");
  draw(gap, (w, h) => curvesChart(runs, "gap", `gap${names || ", primal − dual"}`, theme, w, h), "Gap after every step");
}
