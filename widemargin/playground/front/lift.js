// Two ways to see a kernel in three dimensions, turned by hand: the decision value as height over the plane; and the map
// phi(x) = (x1^2, sqrt(2) x1 x2, x2^2), in which (x'z)^2 is an inner product and the boundary of that kernel is flat.

import { valuesAt, valuesOnGrid } from "./machines.js";
import { marker, rgb } from "./palette.js";

const MESH = 34;

/** Points of space, turned by two angles and scaled to a square of the given size: [px, py, depth]. */
export function camera(turn, tilt, size, zoom) {
  const [ct, st, cp, sp] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  return ([x, y, z]) => {
    const [a, b] = [ct * x - st * y, st * x + ct * y];
    return [size / 2 + zoom * size * a, size / 2 - zoom * size * (sp * b + cp * z), cp * b - sp * z];
  };
}

/** The scene of a fitted machine, as SVG text. kind: "decision" or "squares". */
export function drawLift(kind, picture, { turn, tilt, size }) {
  const view = camera(turn, tilt, size, kind === "squares" ? 0.31 : 0.4);
  const scene = kind === "squares" ? squares(picture, view) : surface(picture, view);
  scene.sort((a, b) => b.depth - a.depth);
  return scene.map((item) => item.svg).join("");
}

const path = (corners) => `M${corners.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z`;

function dots(places, { state, theme, multiplier }, view) {
  return places.map((place, i) => {
    const [x, y, depth] = view(place);
    const { share, kind } = multiplier(i);
    const ring = kind === "zero" ? theme.paper : theme.ink;
    return { depth: depth - 0.12, svg: `<path d="${marker(state.points[i][2], 3.4 + 3.4 * Math.sqrt(share))}" `
      + `transform="translate(${x.toFixed(1)} ${y.toFixed(1)})" fill="${theme.colours[state.points[i][2]]}" stroke="${ring}"/>` };
  });
}

function surface(picture, view) {
  const { state, parts, theme, ratio, window: [x0, x1, y0, y1] } = picture;
  const place = (low, high) => Float64Array.from({ length: MESH }, (_, k) => low + ((high - low) * k) / (MESH - 1));
  const [xs, ys] = [place(x0, x1), place(y0, y1)];
  const values = valuesOnGrid(parts, state, xs, ys)[0];
  const reach = Math.max(1.2, Math.min(3, values.reduce((most, v) => Math.max(most, Math.abs(v)), 0)));
  const height = (v) => (0.7 * Math.max(-reach, Math.min(reach, v))) / reach;
  const [across, up] = [Math.min(1, ratio) * 1.15, Math.min(1, 1 / ratio) * 1.15];
  const unit = (x, y) => [across * ((2 * (x - x0)) / (x1 - x0) - 1), up * ((2 * (y - y0)) / (y1 - y0) - 1)];
  const corner = (a, b) => [...unit(xs[a], ys[b]), height(values[b * MESH + a])];
  const classes = parts[0].classes.length ? parts[0].classes : [1, 0];
  const paper = rgb(theme.paper);
  const scene = [];
  for (let b = 0; b + 1 < MESH; b++) {
    for (let a = 0; a + 1 < MESH; a++) {
      const corners = [corner(a, b), corner(a + 1, b), corner(a + 1, b + 1), corner(a, b + 1)];
      const depth = corners.reduce((sum, p) => sum + view(p)[2] / 4, 0);
      const middle = corners.reduce((sum, [, , z]) => sum + z / 4, 0);
      const slope = (corners[1][2] - corners[0][2]) * 1.6; // lit from the left
      const share = Math.max(0.15, Math.min(0.85, 0.3 + 0.35 * Math.abs(middle) - slope));
      for (const side of [1, 0]) {
        const piece = above(corners, side ? 1 : -1);
        if (piece.length < 3) continue;
        const colour = rgb(theme.colours[classes[side]]).map((c, k) => Math.round(share * c + (1 - share) * paper[k]));
        scene.push({ depth, svg: `<path d="${path(piece.map(view))}" fill="rgb(${colour})" stroke="rgb(${colour})" stroke-width="0.7"/>` });
      }
      scene.push(...crossing(corners, view, theme, depth));
    }
  }
  const plane = [[-across, -up, 0], [across, -up, 0], [across, up, 0], [-across, up, 0]].map(view);
  scene.push({ depth: -9, svg: `<path d="${path(plane)}" fill="none" stroke="${theme.faint}" stroke-dasharray="4 4"/>` });
  const tops = state.points.map(([x, y]) => [...unit(x, y), height(valuesAt(parts, state, x, y)[0])]);
  return [...scene, ...dots(tops, picture, view)];
}

/** Where an edge of a cell crosses z = 0. */
function cut(p, q) {
  const t = p[2] / (p[2] - q[2]);
  return p.map((v, c) => v + t * (q[c] - v));
}

/** The part of a cell above z = 0 (side 1) or below (-1). */
function above(corners, side) {
  return corners.flatMap((p, k) => {
    const q = corners[(k + 1) % 4];
    const own = side * p[2] >= 0 ? [p] : [];
    return p[2] > 0 !== q[2] > 0 ? [...own, cut(p, q)] : own;
  });
}

/** The piece of the boundary f = 0 in a cell. */
function crossing(corners, view, theme, depth) {
  const cuts = corners.flatMap((p, k) => {
    const q = corners[(k + 1) % 4];
    return p[2] > 0 !== q[2] > 0 ? [view(cut(p, q))] : [];
  });
  if (cuts.length < 2) return [];
  const [a, b] = cuts;
  return [{ depth: depth - 0.03, svg: `<path d="M${a[0].toFixed(1)} ${a[1].toFixed(1)}L${b[0].toFixed(1)} ${b[1].toFixed(1)}" stroke="${theme.ink}" stroke-width="2.4"/>` }];
}

const phi = (x, y) => [x * x, Math.SQRT2 * x * y, y * y];

/** Whether the machine's kernel is (gamma x'z)^2, whose boundary is a plane among the squares. */
export const isSquare = ({ kernel, degree, coef0 }) => kernel === "poly" && degree === 2 && coef0 === 0;

function squares(picture, view) {
  const { state, parts, theme } = picture;
  const mapped = state.points.map(([x, y]) => phi(x, y));
  const most = Math.max(1e-9, ...mapped.flat().map(Math.abs));
  const unit = ([u, v, w]) => [(2 * u) / most - 1, v / most, (2 * w) / most - 1];
  const scene = dots(mapped.map(unit), picture, view);
  const axis = (to, word) => {
    const [a, b] = [view(unit([0, 0, 0])), view(unit(to))];
    return { depth: 5, svg: `<path d="M${a[0]} ${a[1]}L${b[0]} ${b[1]}" stroke="${theme.faint}"/><text x="${b[0]}" y="${b[1] - 6}" `
      + `font-size="12" text-anchor="middle" fill="${theme.ink}" font-family="system-ui, sans-serif">${word}</text>` };
  };
  scene.push(axis([most, 0, 0], "x₁²"), axis([0, most, 0], "√2 x₁x₂"), axis([0, 0, most], "x₂²"));
  if (isSquare(state) && parts.length) scene.push(...flatBoundary(parts[0], state, most, unit, view, theme));
  return scene;
}

/** The plane w'phi + b = 0 inside the cube, where phi is that of the kernel (gamma x'z)^2. */
function flatBoundary(part, state, most, unit, view, theme) {
  const w = [0, 0, 0];
  part.index.forEach((i, t) => phi(state.points[i][0], state.points[i][1]).forEach((v, c) => {
    w[c] += part.scale * part.beta[t] * state.gamma ** 2 * v;
  }));
  const ranges = [[0, most], [-most, most], [0, most]];
  const value = (p) => part.bias + p.reduce((sum, v, c) => sum + w[c] * v, 0);
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((k) => ranges.map((range, c) => range[(k >> c) & 1]));
  const cuts = [];
  for (let k = 0; k < 8; k++) {
    for (let c = 0; c < 3; c++) {
      if ((k >> c) & 1) continue;
      const [p, q] = [corners[k], corners[k | (1 << c)]];
      const [a, b] = [value(p), value(q)];
      if (a > 0 !== b > 0) cuts.push(p.map((v, d) => v + (a / (a - b)) * (q[d] - v)));
    }
  }
  if (cuts.length < 3) return [];
  const seen = cuts.map((cut) => view(unit(cut)));
  const [cx, cy] = [0, 1].map((c) => seen.reduce((sum, p) => sum + p[c] / seen.length, 0));
  seen.sort((p, q) => Math.atan2(p[1] - cy, p[0] - cx) - Math.atan2(q[1] - cy, q[0] - cx));
  const depth = seen.reduce((sum, p) => sum + p[2] / seen.length, 0);
  return [{ depth, svg: `<path class="flat" d="${path(seen)}" fill="${theme.zero}" fill-opacity="0.35" stroke="${theme.ink}"/>` }];
}
