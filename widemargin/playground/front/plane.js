// The plane: a canvas with the tint and an SVG above it with axes, lines, points and marks. It draws a picture
// { state, parts, theme, multiplier(i), marks, hover, selected, cursor, pointsOf } and knows nothing of how one comes about.

import { curveOf, fieldOf, linesOf, paint } from "./field.js";
import { marker } from "./palette.js";

const SMALLEST = 3.6; // radius in pixels of a point whose multiplier is zero
const GROWTH = 4.2; // what the largest multiplier adds to it

/** A window around points, with some room; equal scales unless the two ranges are very different. */
export function windowAround(points, machine, ratio) {
  if (!points.length) return [-3 * ratio, 3 * ratio, -3, 3];
  const range = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))];
  let [[x0, x1], [y0, y1]] = [range(0), range(1)];
  const widen = (low, high, size) => [(low + high) / 2 - size / 2, (low + high) / 2 + size / 2];
  const [sx, sy] = [Math.max(x1 - x0, 1e-3) * 1.3, Math.max(y1 - y0, 1e-3) * 1.3];
  const lone = sx < 0.01 && sy < 0.01; // all points in one place
  const alike = machine !== "svr" && Math.max(sx / sy, sy / sx) < 6;
  const height = lone ? 2 : alike ? Math.max(sy, sx / ratio) : sy;
  [x0, x1] = widen(x0, x1, lone || alike ? height * ratio : sx);
  [y0, y1] = widen(y0, y1, height);
  return [x0, x1, y0, y1];
}

/** Numbers at which an axis has ticks. */
export function ticks(low, high, about = 6) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((m) => m * power >= raw) * power;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(6)));
  return found;
}

const signed = (value) => String(value).replace("-", "−");

export class Plane {
  constructor(host, label) {
    host.innerHTML = '<canvas aria-hidden="true"></canvas><svg role="application" tabindex="0"></svg>';
    [this.host, this.canvas, this.svg] = [host, host.firstChild, host.lastChild];
    this.svg.setAttribute("aria-label", label);
    this.window = [-3, 3, -3, 3];
    this.measure();
  }

  measure() {
    this.width = Math.max(120, this.host.clientWidth);
    this.height = Math.max(120, this.host.clientHeight);
    return this.width / this.height;
  }

  px(x) {
    return ((x - this.window[0]) / (this.window[1] - this.window[0])) * this.width;
  }

  py(y) {
    return ((this.window[3] - y) / (this.window[3] - this.window[2])) * this.height;
  }

  /** Coordinates of a pixel. */
  at(px, py) {
    const [x0, x1, y0, y1] = this.window;
    return [x0 + (px / this.width) * (x1 - x0), y1 - (py / this.height) * (y1 - y0)];
  }

  /** Number of the point under a pixel, -1 if there is none within `reach` pixels. */
  nearest(points, px, py, reach = 14) {
    let [best, found] = [reach * reach, -1];
    points.forEach(([x, y], i) => {
      const distance = (this.px(x) - px) ** 2 + (this.py(y) - py) ** 2;
      if (distance <= best) [best, found] = [distance, i];
    });
    return found;
  }

  draw(picture) {
    const { state, parts, theme } = picture;
    this.measure();
    this.window = picture.window;
    [this.canvas.width, this.canvas.height] = [this.width, this.height];
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const context = this.canvas.getContext("2d");
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, this.width, this.height);
    let lines = "";
    if (parts?.length) {
      lines = state.machine === "svr" ? this.curve(picture) : this.lines(picture);
    }
    this.svg.innerHTML = this.axes(theme) + lines + this.slack(picture) + this.points(picture) + this.marks(picture);
  }

  axes(theme) {
    const [x0, x1, y0, y1] = this.window;
    const text = `font-size="11" fill="${theme.faint}" font-family="system-ui, sans-serif"`;
    const about = Math.max(3, Math.min(7, this.width / 110));
    const across = ticks(x0, x1, about).filter((x) => this.px(x) > 30 && this.px(x) < this.width - 12).map((x) => {
      const px = this.px(x).toFixed(1);
      return `<path d="M${px} ${this.height}v-5" stroke="${theme.faint}"/><text x="${px}" y="${this.height - 8}" ${text} `
        + `text-anchor="middle">${signed(x)}</text>`;
    });
    const up = ticks(y0, y1, about).filter((y) => this.py(y) > 10 && this.py(y) < this.height - 22).map((y) => {
      const py = this.py(y).toFixed(1);
      return `<path d="M0 ${py}h5" stroke="${theme.faint}"/><text x="8" y="${py}" dy="3.5" ${text}>${signed(y)}</text>`;
    });
    return `<g class="axes">${across.join("")}${up.join("")}</g>`;
  }

  lines({ state, parts, theme }) {
    const field = fieldOf(parts, state, this.window, this.width / this.height);
    paint(this.canvas, field, parts, state, theme);
    return linesOf(field, state.machine).map(({ level, lines, width, height }) => {
      const [sx, sy] = [this.width / (width - 1), this.height / (height - 1)];
      const path = lines.map((line) => "M" + line.map(([a, b]) => `${(a * sx).toFixed(1)} ${(b * sy).toFixed(1)}`).join("L"));
      const look = level === 0 ? 'stroke-width="2.2"' : 'stroke-width="1.3" stroke-dasharray="6 4"';
      return `<path class="level" data-level="${level}" d="${path.join("")}" fill="none" stroke="${theme.ink}" ${look}/>`;
    }).join("");
  }

  curve({ state, parts, theme }) {
    const { xs, values } = curveOf(parts, state, this.window[0], this.window[1]);
    const path = (shift) => Array.from(xs, (x, k) => `${this.px(x).toFixed(1)} ${this.py(values[k] + shift).toFixed(1)}`);
    const [upper, lower, middle] = [path(state.epsilon), path(-state.epsilon), path(0)];
    const tint = theme.dark ? "26%" : "16%";
    return `<path class="tube" d="M${upper.join("L")}L${lower.reverse().join("L")}Z" fill="${theme.colours[0]}" `
      + `fill-opacity="${tint}"/><path d="M${upper.join("L")}M${path(-state.epsilon).join("L")}" fill="none" `
      + `stroke="${theme.ink}" stroke-width="1.3" stroke-dasharray="6 4"/>`
      + `<path class="level" data-level="0" d="M${middle.join("L")}" fill="none" stroke="${theme.ink}" stroke-width="2.2"/>`;
  }

  /** In regression a line from every point outside the tube to its edge. */
  slack({ state, theme, slackOf }) {
    if (state.machine !== "svr" || !slackOf) return "";
    return state.points.map(([x, y], i) => {
      const slack = slackOf(i); // above the tube positive
      if (!slack) return "";
      const [px, from, to] = [this.px(x), this.py(y), this.py(y - slack)].map((v) => v.toFixed(1));
      return `<path d="M${px} ${from}V${to}" stroke="${theme.faint}" stroke-width="1"/>`;
    }).join("");
  }

  points({ state, theme, multiplier, dimmed }) {
    const crowded = state.points.length > 150 ? 0.8 : 1;
    const order = [...state.points.keys()].sort((a, b) => multiplier(a).share - multiplier(b).share);
    const drawn = order.map((i) => {
      const [x, y, label] = state.points[i];
      const { share, kind } = multiplier(i);
      const radius = crowded * (SMALLEST + GROWTH * Math.sqrt(share));
      const ofKind = { zero: theme.zero, free: theme.free, bound: theme.bound }[kind];
      const fill = state.colour === "multiplier" ? ofKind : theme.colours[label];
      const ring = { zero: `stroke="${theme.paper}" stroke-width="1"`, free: `stroke="${theme.ink}" stroke-width="2"`,
        bound: `stroke="${theme.ink}" stroke-width="2" stroke-dasharray="2.2 1.6"` }[kind];
      return `<path data-i="${i}" data-kind="${kind}" d="${marker(label, radius)}" `
        + `transform="translate(${this.px(x).toFixed(1)} ${this.py(y).toFixed(1)})" fill="${fill}" ${ring}`
        + `${dimmed?.(i) ? ' opacity="0.25"' : ""}/>`;
    });
    return `<g class="points">${drawn.join("")}</g>`;
  }

  /** Rings around the pair of a step, the hovered and the selected point; the keyboard's cross. */
  marks({ state, theme, marks, hover, selected, cursor }) {
    const ring = (i, radius, colour, extra = "") => {
      const point = state.points[i];
      if (!point) return "";
      return `<circle cx="${this.px(point[0]).toFixed(1)}" cy="${this.py(point[1]).toFixed(1)}" r="${radius}" fill="none" `
        + `stroke="${colour}" stroke-width="2.5" ${extra}/>`;
    };
    const label = (i, text, colour) => {
      const point = state.points[i];
      if (!point) return "";
      const [px, py] = [this.px(point[0]), this.py(point[1])];
      const left = px > this.width - 40;
      return `<text x="${(px + (left ? -15 : 15)).toFixed(1)}" y="${(py - 9).toFixed(1)}" font-size="18" font-weight="700" `
        + `text-anchor="${left ? "end" : "start"}" font-family="system-ui, sans-serif" fill="${colour}" stroke="${theme.paper}" `
        + `stroke-width="3.5" paint-order="stroke">${text}</text>`;
    };
    let found = (marks?.set ?? []).map((i) => ring(i, 10, theme.faint, 'stroke-dasharray="3 3"')).join("");
    if (marks && marks.first >= 0) found += ring(marks.first, 13, theme.first) + label(marks.first, "i", theme.first);
    if (marks && marks.second >= 0) found += ring(marks.second, 13, theme.second) + label(marks.second, "j", theme.second);
    if (hover >= 0) found += ring(hover, 11, theme.faint);
    if (selected >= 0) found += ring(selected, 16, theme.ink, 'stroke-dasharray="5 3"');
    if (cursor) {
      const [x, y] = [this.px(cursor[0]).toFixed(1), this.py(cursor[1]).toFixed(1)];
      found += `<path d="M${x} ${y}m-12 0h24m-12 -12v24" stroke="${theme.ink}" stroke-width="2"/>`;
    }
    return `<g class="marks">${found}</g>`;
  }
}
