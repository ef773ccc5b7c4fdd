// The picture behind the points: decision values on a coarse grid, tinted on a canvas, and the lines f = 0 and f = +-1.

import { classesOf, valuesOnGrid, vote } from "./machines.js";
import { contourLines } from "./contour.js";
import { rgb } from "./palette.js";

const FINE = 88; // nodes along the longer side; the lines between them are straight
const FEWEST = 8; // nodes along a side, of a plane that is not laid out yet
const FINER = 4; // parts of a side of a cell, where regions of more than two classes meet
const COARSE = 52; // where each node costs a tanh for every point, or for eight classes

/** Values on a grid over a window: { width, height, values: one array for each part, regions: of more than two classes }. */
export function fieldOf(parts, state, [x0, x1, y0, y1], ratio = 1) {
  const many = state.kernel === "sigmoid" || parts.length > 3;
  const longest = many ? COARSE : FINE;
  const width = Math.max(FEWEST, Math.round(ratio >= 1 ? longest : longest * ratio));
  const height = Math.max(FEWEST, Math.round(ratio >= 1 ? longest / ratio : longest));
  const xs = Float64Array.from({ length: width }, (_, a) => x0 + ((x1 - x0) * a) / (width - 1));
  const ys = Float64Array.from({ length: height }, (_, b) => y1 - ((y1 - y0) * b) / (height - 1));
  const field = { width, height, values: valuesOnGrid(parts, state, xs, ys), regions: null };
  if (parts.length > 1) field.regions = regionsOf(field, parts);
  return field;
}

/** The class at every node of a grid that is FINER times as fine: votes of values between the nodes, where they matter. */
function regionsOf({ width, height, values }, parts) {
  const [wide, high] = [(width - 1) * FINER + 1, (height - 1) * FINER + 1];
  const coarse = new Uint8Array(width * height);
  const at = new Float64Array(parts.length);
  for (let k = 0; k < width * height; k++) {
    for (let p = 0; p < parts.length; p++) at[p] = values[p][k];
    coarse[k] = vote(parts, at);
  }
  const labels = new Uint8Array(wide * high);
  for (let b = 0; b + 1 < height; b++) {
    for (let a = 0; a + 1 < width; a++) {
      const k = b * width + a;
      const even = coarse[k] === coarse[k + 1] && coarse[k] === coarse[k + width] && coarse[k] === coarse[k + width + 1];
      for (let v = 0; v <= FINER; v++) {
        for (let u = 0; u <= FINER; u++) {
          const to = (b * FINER + v) * wide + a * FINER + u;
          if (even) {
            labels[to] = coarse[k];
            continue;
          }
          const [s, t] = [u / FINER, v / FINER];
          for (let p = 0; p < parts.length; p++) {
            const f = values[p];
            at[p] = (1 - t) * ((1 - s) * f[k] + s * f[k + 1]) + t * ((1 - s) * f[k + width] + s * f[k + width + 1]);
          }
          labels[to] = vote(parts, at);
        }
      }
    }
  }
  return { width: wide, height: high, labels, classes: [...new Set(parts.flatMap((part) => part.classes))] };
}

/** The curve of a regression: decision values at `count` places between x0 and x1. */
export function curveOf(parts, state, x0, x1, count = 240) {
  const xs = Float64Array.from({ length: count }, (_, k) => x0 + ((x1 - x0) * k) / (count - 1));
  return { xs, values: valuesOnGrid(parts, state, xs, Float64Array.of(0))[0] };
}

/** Lines of a field, in units of a grid: [{ level, lines, width, height }]; for many classes the edges of their regions. */
export function linesOf({ width, height, values, regions }, machine) {
  if (regions) {
    return regions.classes.map((label) => {
      const member = smooth(Float32Array.from(regions.labels, (own) => (own === label ? 1 : 0)), regions.width, regions.height);
      return { level: 0, lines: contourLines(member, regions.width, regions.height, 0.5), width: regions.width, height: regions.height };
    });
  }
  const levels = machine === "oneclass" ? [0] : [-1, 0, 1];
  return levels.map((level) => ({ level, lines: contourLines(values[0], width, height, level), width, height }));
}

/** Means over three nodes in either direction, twice: the steps of the grid disappear. */
function smooth(values, width, height) {
  const along = (from, size, stride, count, other) => {
    const to = new Float32Array(from.length);
    for (let line = 0; line < count; line++) {
      for (let k = 0; k < size; k++) {
        const at = line * other + k * stride;
        const [before, after] = [k > 0 ? at - stride : at, k + 1 < size ? at + stride : at];
        to[at] = (from[before] + from[at] + from[after]) / 3;
      }
    }
    return to;
  };
  let now = values;
  for (let turn = 0; turn < 2; turn++) now = along(along(now, width, 1, height, width), height, width, width, 1);
  return now;
}

/** Paint the tint of a field onto a canvas. */
export function paint(canvas, field, parts, state, theme) {
  const { regions } = field;
  const { width, height } = regions ?? field;
  const small = document.createElement("canvas");
  [small.width, small.height] = [width, height];
  const context = small.getContext("2d");
  const image = context.createImageData(width, height);
  const paper = rgb(theme.paper);
  const colours = theme.colours.map(rgb);
  const classes = parts[0].classes.length ? parts[0].classes : [1, classesOf(state.points)[0] ?? 0];
  for (let k = 0; k < width * height; k++) {
    const value = regions ? 1 : field.values[0][k];
    const colour = colours[(regions ? regions.labels[k] : classes[value >= 0 ? 1 : 0]) % colours.length];
    const outside = state.machine === "oneclass" && value < 0;
    const share = outside ? 0 : regions ? 0.26 : 0.08 + 0.24 * Math.min(1, Math.abs(value) / 1.5);
    for (let c = 0; c < 3; c++) image.data[4 * k + c] = share * colour[c] + (1 - share) * paper[c];
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
