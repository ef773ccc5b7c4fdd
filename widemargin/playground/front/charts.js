// The charts of a step, as SVG text: violation bars, the parabola of the step, and the curves of objective and gap.

import { extremes, fall, isFree, rise, thresholds } from "./problem.js";
import { ETA_FLOOR } from "./pair_step.js";
import { name, short } from "./pair_event.js";
import { ticks } from "./plane.js";

const MOST_BARS = 48;
const FONT = 'font-family="system-ui, sans-serif"';

/** The point before an event, from the point after it. */
export function before(player, event, isMade) {
  if (!isMade) return { beta: player.beta, f: player.f };
  const [beta, f] = [Float64Array.from(player.beta), Float64Array.from(player.f)];
  const { n, K } = player.problem;
  event.moved.forEach((k, t) => {
    const step = event.from[t] - event.to[t];
    beta[k] = event.from[t];
    for (let i = 0; i < n; i++) f[i] += step * K[k * n + i];
  });
  return { beta, f };
}

/** The numbers behind the choice of a pair: [{ title, bars: [{ i, value }] }]. */
export function reasons(problem, { beta, f }, event) {
  const levels = event.threshold === undefined ? thresholds(problem, beta, f) : null;
  const level = (k) => (levels ? levels[problem.groups ? problem.group[k] : 0] : event.threshold);
  const all = [...Array(problem.n).keys()];
  const violations = all.map((i) => ({
    i, value: Math.max(0, level(i) - rise(problem, beta, f, i), fall(problem, beta, f, i) - level(i)),
  }));
  const found = [{ title: "violation of the threshold", bars: violations }];
  const i = event.first;
  if (event.rule === "gain") {
    const { n, K, group } = problem;
    const low = rise(problem, beta, f, i);
    found.push({
      title: "gain with i",
      bars: all.filter((t) => t !== i && group[t] === group[i]).map((t) => {
        const slope = Math.max(0, fall(problem, beta, f, t) - low);
        const scale = K[i * n + i] + K[t * n + t];
        return { i: t, value: (slope * slope) / (2 * Math.max(scale - 2 * K[i * n + t], ETA_FLOOR * scale)) };
      }),
    });
  } else if (event.rule === "error") {
    const error = (k) => f[k] + problem.epsilon[k] * Math.sign(beta[k]);
    found.push({
      title: "|E₁ − E₂|, non-bound",
      bars: all.filter((k) => isFree(problem, beta, k)).map((k) => ({ i: k, value: Math.abs(error(k) - error(i)) })),
    });
  } else if (event.rule === "extreme") {
    const ends = extremes(problem, beta, f)[0];
    found[0].title = `violation, b_low − b_up = ${short(ends.fall - ends.rise)}`;
  }
  return found;
}

/** Bars of the largest values, the two chosen points marked. */
export function barChart({ title, bars }, event, theme, width, height) {
  const chosen = new Set([event.first, event.second]);
  const sorted = bars.filter((bar) => bar.value > 0 || chosen.has(bar.i)).sort((a, b) => b.value - a.value);
  const shown = sorted.slice(0, MOST_BARS);
  for (const bar of sorted.slice(MOST_BARS)) if (chosen.has(bar.i)) shown[MOST_BARS - 1] = bar;
  const most = Math.max(...shown.map((bar) => bar.value), 1e-300);
  const [top, bottom, left] = [22, 18, 4];
  const room = height - top - bottom;
  const step = Math.min(22, (width - 2 * left) / Math.max(shown.length, 1));
  const drawn = shown.map((bar, k) => {
    const size = Math.max(1, (bar.value / most) * room);
    const role = bar.i === event.first ? "i" : bar.i === event.second ? "j" : "";
    const colour = role === "i" ? theme.first : role === "j" ? theme.second : theme.zero;
    const [x, y] = [left + k * step, top + room - size];
    const letter = role ? `<text x="${x + step / 2}" y="${height - 4}" text-anchor="middle" font-size="13" font-weight="700" `
      + `${FONT} fill="${colour}">${role}</text>` : "";
    return `<rect data-point="${bar.i}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(1, step - 1.5).toFixed(1)}" `
      + `height="${size.toFixed(1)}" fill="${colour}"><title>${name(bar.i)}: ${short(bar.value)}</title></rect>${letter}`;
  });
  return `<text x="${left}" y="14" font-size="12" ${FONT} fill="${theme.ink}">${title}${width > 250 ? "; largest" : ":"} ${short(most)}</text>`
    + `<path d="M${left} ${top + room + 0.5}H${width - left}" stroke="${theme.line}"/>${drawn.join("")}`;
}

/** The objective along the direction of a step: q(s), its feasible range, and the unclipped minimum where it has no kinks. */
export function alongStep(problem, { beta, f }, event) {
  const { n, K, epsilon, lower, upper } = problem;
  const pair = event.moved.length <= 2;
  const last = event.moved.length - 1;
  const unit = pair ? event.to[last] - event.from[last] : 1; // for a pair s is the change of b_j itself
  const step = event.moved.map((k, t) => (event.to[t] - event.from[t]) / (unit || 1));
  let [slope, curvature, low, high] = [0, 0, -Infinity, Infinity];
  event.moved.forEach((k, t) => {
    slope += step[t] * f[k];
    event.moved.forEach((m, u) => (curvature += step[t] * step[u] * K[k * n + m]));
    const ends = [(lower[k] - beta[k]) / step[t], (upper[k] - beta[k]) / step[t]].sort((a, b) => a - b);
    if (step[t] !== 0) [low, high] = [Math.max(low, ends[0]), Math.min(high, ends[1])];
  });
  const value = (s) => slope * s + 0.5 * curvature * s * s + event.moved.reduce((sum, k, t) =>
    sum + epsilon[k] * (Math.abs(beta[k] + s * step[t]) - Math.abs(beta[k])), 0);
  const origin = pair ? beta[event.moved[last]] : 0;
  const isParabola = pair && curvature > 0 && event.moved.every((k) => epsilon[k] === 0);
  return { value, low, high, origin, made: pair ? unit : 1, lowest: isParabola ? -slope / curvature : NaN, pair };
}

/** The parabola with the part outside the box dotted, the start, the unclipped minimum and the step made. */
export function parabolaChart(along, theme, width, height) {
  const { value, low, high, made, lowest, origin, pair } = along;
  const finite = (v, otherwise) => (Number.isFinite(v) ? v : otherwise);
  const minimum = finite(lowest, made);
  const span = Math.max(Math.abs(made), Math.abs(minimum), 1e-12);
  const from = Math.max(Math.min(0, made, minimum) - 0.6 * span, finite(low, -Infinity) - span);
  const to = Math.min(Math.max(0, made, minimum) + 0.6 * span, finite(high, Infinity) + span);
  const [top, bottom, left] = [24, 30, 8];
  const places = Array.from({ length: 121 }, (_, k) => from + ((to - from) * k) / 120);
  const values = places.map(value);
  const [least, most] = [Math.min(...values, value(made)), Math.max(...values.filter(Number.isFinite), 0)];
  const px = (s) => left + ((s - from) / (to - from)) * (width - 2 * left);
  const py = (v) => top + ((most - v) / Math.max(most - least, 1e-300)) * (height - top - bottom);
  const path = (list) => list.map((s, k) => `${k ? "L" : "M"}${px(s).toFixed(1)} ${py(value(s)).toFixed(1)}`).join("");
  const [a, b] = [Math.max(low, from), Math.min(high, to)];
  const inside = path([a, ...places.filter((s) => s > a && s < b), b]);
  const dot = (s, colour, radius) => `<circle cx="${px(s).toFixed(1)}" cy="${py(value(s)).toFixed(1)}" r="${radius}" fill="${colour}"/>`;
  const text = (x, y, words, colour, anchor = "middle") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="12" ${FONT} `
    + `fill="${colour}" text-anchor="${anchor}">${words}</text>`;
  const wall = (s, word) => (Number.isFinite(s) && s > from && s < to
    ? `<path d="M${px(s).toFixed(1)} ${top - 4}V${height - bottom}" stroke="${theme.ink}" stroke-width="1.5"/>`
      + text(px(s), height - bottom + 13, `${word} = ${short(s + origin)}`, theme.ink, px(s) < 40 ? "start" : px(s) > width - 40 ? "end" : "middle")
    : "");
  const isClipped = pair && Math.min(Math.abs(made - low), Math.abs(made - high)) < 1e-9 * span;
  const unclipped = Number.isFinite(lowest)
    ? `<circle cx="${px(lowest).toFixed(1)}" cy="${py(value(lowest)).toFixed(1)}" r="5" fill="none" stroke="${theme.faint}" stroke-width="2"/>`
    : "";
  const what = pair ? "objective along bⱼ" : "objective along the step";
  return text(left, 14, `${what}: −${short(-value(made))}${isClipped ? ", clipped" : ""}`, theme.ink, "start")
    + `<path d="${path(places)}" fill="none" stroke="${theme.faint}" stroke-dasharray="3 3"/>`
    + `<path class="feasible" d="${inside}" fill="none" stroke="${theme.ink}" stroke-width="2"/>`
    + wall(low, pair ? "L" : "box") + wall(high, pair ? "H" : "box") + unclipped
    + `<path d="M${px(0).toFixed(1)} ${py(0).toFixed(1)}L${px(made).toFixed(1)} ${py(value(made)).toFixed(1)}" stroke="${theme.first}" stroke-dasharray="2 2"/>`
    + dot(0, theme.faint, 4.5) + dot(made, theme.first, 5.5);
}

/** Objective and gap after every step; the gap on a logarithmic scale. runs: [{ record, position, colour, label }]. */
export function curvesChart(runs, column, title, theme, width, height, optimum = null) {
  const isLog = column !== "objective";
  const read = (row) => (isLog ? Math.log10(Math.max(row[column], 1e-12)) : row.objective);
  const values = runs.flatMap(({ record }) => record.map(read));
  if (optimum !== null) values.push(optimum);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low < 1e-9) [low, high] = [low - 1, high + 1];
  const most = Math.max(1, ...runs.map(({ record }) => record.length - 1));
  const [top, bottom, left, right] = [22, 18, 46, 10];
  const px = (k) => left + (k / most) * (width - left - right);
  const py = (v) => top + ((high - v) / (high - low)) * (height - top - bottom);
  const grid = ticks(low, high, 3).filter((v) => !isLog || Number.isInteger(v)).map((v) => `<path d="M${left} ${py(v).toFixed(1)}H${width - right}" stroke="${theme.line}"/>`
    + `<text x="${left - 5}" y="${(py(v) + 4).toFixed(1)}" text-anchor="end" font-size="11" ${FONT} fill="${theme.faint}">`
    + `${isLog ? `1e${v}`.replace("-", "−") : short(v)}</text>`);
  const lines = runs.map(({ record, position, colour }, at) => {
    const every = Math.max(1, Math.floor(record.length / 600));
    const kept = record.map((row, k) => [k, row]).filter(([k]) => k % every === 0 || k === record.length - 1 || k === position);
    const path = kept.map(([k, row], t) => `${t ? "L" : "M"}${px(k).toFixed(1)} ${py(read(row)).toFixed(1)}`).join("");
    const here = record[position];
    return `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2" ${at ? 'stroke-dasharray="6 3"' : ""}/>`
      + `<circle cx="${px(position).toFixed(1)}" cy="${py(read(here)).toFixed(1)}" r="4.5" fill="${colour}"/>`;
  });
  const goal = optimum === null ? "" : `<path d="M${left} ${py(optimum).toFixed(1)}H${width - right}" stroke="${theme.faint}" stroke-dasharray="2 4"/>`;
  const marks = [0, most].map((k) => `<text x="${px(k)}" y="${height - 4}" font-size="11" ${FONT} fill="${theme.faint}" `
    + `text-anchor="${k ? "end" : "start"}">${k ? `step ${k}` : "0"}</text>`);
  return `<text x="4" y="14" font-size="12" ${FONT} fill="${theme.ink}">${title}</text>${grid.join("")}${goal}${lines.join("")}${marks.join("")}`;
}
