// The picture behind the points: decision values on a coarse grid, tinted on a canvas, and the lines f = 0 and f = +-1.

import { classesOf, valuesOnGrid, vote } from "./machines.js";
import { contourLines } from "./contour.js";
import { rgb } from "./palette.js";

const FINE = 88; // nodes along the longer side; the lines between them are straight
const COARSE = 52; // where each node costs a tanh for every point, or for eight classes

/** Values on a grid over a window: { width, height, xs, ys, values: one array for each part, labels }. */
export function fieldOf(parts, state, [x0, x1, y0, y1], ratio = 1) {
  const many = state.kernel === "sigmoid" || parts.length > 3;
  const longest = many ? COARSE : FINE;
  const width = Math.round(ratio >= 1 ? longest : longest * ratio);
  const height = Math.round(ratio >= 1 ? longest / ratio : longest);
  const xs = Float64Array.from({ length: width }, (_, a) => x0 + ((x1 - x0) * a) / (width - 1));
  const ys = Float64Array.from({ length: height }, (_, b) => y1 - ((y1 - y0) * b) / (height - 1));
  const values = valuesOnGrid(parts, state, xs, ys);
  const field = { width, height, xs, ys, values, labels: null };
  if (parts.length > 1) {
    field.labels = new Uint8Array(width * height);
    const at = new Float64Array(parts.length);
    for (let k = 0; k < width * height; k++) {
      for (let p = 0; p < parts.length; p++) at[p] = values[p][k];
      field.labels[k] = vote(parts, at);
    }
  }
  return field;
}

/** The curve of a regression: decision values at `count` places between x0 and x1. */
export function curveOf(parts, state, x0, x1, count = 240) {
  const xs = Float64Array.from({ length: count }, (_, k) => x0 + ((x1 - x0) * k) / (count - 1));
  return { xs, values: valuesOnGrid(parts, state, xs, Float64Array.of(0))[0] };
}

/** Lines of a field in its own units: [{ level, lines }]; for many classes the borders of their regions. */
export function linesOf(field, parts, machine) {
  const { width, height, values, labels } = field;
  if (labels) {
    return parts.map((part, p) => {
      const [a, b] = part.classes;
      const keep = (x, y) => {
        const at = y * width + x;
        const seen = [labels[at], labels[at + 1], labels[at + width], labels[at + width + 1]];
        return seen.includes(a) && seen.includes(b);
      };
      return { level: 0, lines: contourLines(values[p], width, height, 0, keep) };
    });
  }
  const levels = machine === "oneclass" ? [0] : [-1, 0, 1];
  return levels.map((level) => ({ level, lines: contourLines(values[0], width, height, level) }));
}

/** Paint the tint of a field onto a canvas. */
export function paint(canvas, field, parts, state, theme) {
  const { width, height, values, labels } = field;
  const small = document.createElement("canvas");
  [small.width, small.height] = [width, height];
  const context = small.getContext("2d");
  const image = context.createImageData(width, height);
  const paper = rgb(theme.paper);
  const colours = theme.colours.map(rgb);
  const classes = parts[0].classes.length ? parts[0].classes : [1, classesOf(state.points)[0] ?? 0];
  for (let k = 0; k < width * height; k++) {
    const value = values[0][k];
    const colour = colours[(labels ? labels[k] : classes[value >= 0 ? 1 : 0]) % colours.length];
    const share = labels ? 0.26 : 0.08 + 0.24 * Math.min(1, Math.abs(value) / 1.5);
    const outside = state.machine === "oneclass" && value < 0;
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = outside ? paper[c] : share * colour[c] + (1 - share) * paper[c];
    image.data[4 * k + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  const into = canvas.getContext("2d");
  into.imageSmoothingEnabled = true;
  into.imageSmoothingQuality = "high";
  // The nodes of the grid are at the middle of its pixels, and on the edge of the window.
  const [sx, sy] = [canvas.width / (width - 1), canvas.height / (height - 1)];
  into.drawImage(small, -0.5 * sx, -0.5 * sy, width * sx, height * sy);
}
