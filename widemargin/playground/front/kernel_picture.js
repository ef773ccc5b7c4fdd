// The kernel matrix as a picture, points sorted by class and similarity: blocks on the diagonal are what makes a kernel good.

import { kernelMatrix } from "./kernels.js";
import { coordinates } from "./machines.js";
import { rgb } from "./palette.js";

/** Points in the order of the picture: by class, and from each to the one of its class that is most similar to it. */
export function sortedPoints({ points, machine }, K) {
  const n = points.length;
  if (machine === "svr") return [...points.keys()].sort((a, b) => points[a][0] - points[b][0]);
  const label = (i) => (machine === "oneclass" ? 0 : points[i][2]);
  const order = [];
  for (const own of new Set([...points.keys()].map(label).sort((a, b) => a - b))) {
    const left = new Set([...points.keys()].filter((i) => label(i) === own));
    let here = [...left].reduce((a, b) => (points[b][0] < points[a][0] ? b : a));
    while (left.size) {
      order.push(here);
      left.delete(here);
      let next = -1;
      for (const i of left) if (next < 0 || K[here * n + i] > K[here * n + next]) next = i;
      here = next;
    }
  }
  return order;
}

/** Draw the matrix on a canvas; returns { order, K, n, low, high } for whoever wants a value. */
export function drawKernel(canvas, state, theme) {
  const { xs, ys } = coordinates(state.points, state.machine);
  const [K, n] = [kernelMatrix(state, xs, ys), state.points.length];
  const order = sortedPoints(state, K);
  const size = Math.max(1, n);
  const [low, high] = K.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [0, 1e-12]);
  const small = document.createElement("canvas");
  [small.width, small.height] = [size, size];
  const context = small.getContext("2d");
  const image = context.createImageData(size, size);
  const [paper, positive, negative] = [theme.paper, theme.colours[0], theme.colours[1]].map(rgb);
  const reach = Math.max(high, -low);
  for (let a = 0; a < n; a++) {
    for (let b = 0; b < n; b++) {
      const value = K[order[a] * n + order[b]] / reach;
      const share = Math.sqrt(Math.min(1, Math.abs(value)));
      const colour = value >= 0 ? positive : negative;
      for (let c = 0; c < 3; c++) image.data[4 * (a * n + b) + c] = share * colour[c] + (1 - share) * paper[c];
      image.data[4 * (a * n + b) + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  const side = Math.min(canvas.clientWidth, canvas.clientHeight) || 300;
  [canvas.width, canvas.height] = [side, side];
  const into = canvas.getContext("2d");
  into.imageSmoothingEnabled = n > side;
  into.drawImage(small, 0, 0, side, side);
  into.strokeStyle = theme.ink;
  into.lineWidth = 1.5;
  for (let k = 1; k < n && state.machine !== "svr" && state.machine !== "oneclass"; k++) {
    if (state.points[order[k]][2] === state.points[order[k - 1]][2]) continue;
    const at = Math.round((k / n) * side);
    into.beginPath();
    into.moveTo(at, 0);
    into.lineTo(at, side);
    into.moveTo(0, at);
    into.lineTo(side, at);
    into.stroke();
  }
  return { order, K, n, low, high };
}
