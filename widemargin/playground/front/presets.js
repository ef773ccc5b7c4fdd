// Examples to start from: points, and the machine that shows what they are for. Random, but the same at every visit.

import { randomFrom } from "./random.js";

const round = (value) => Math.round(value * 1000) / 1000;
const point = (x, y, label = 0) => [round(x), round(y), label];

function cloud(random, n, cx, cy, sx, sy, label) {
  return Array.from({ length: n }, () => point(cx + sx * random.normal(), cy + sy * random.normal(), label));
}

function corners(spread, n, seed) {
  const random = randomFrom(seed);
  return [[-1, -1, 0], [1, 1, 0], [-1, 1, 1], [1, -1, 1]].flatMap(([x, y, label]) =>
    cloud(random, n, x, y, spread, spread, label));
}

function moons(n, noise, seed) {
  const random = randomFrom(seed);
  return Array.from({ length: 2 * n }, (_, k) => {
    const [angle, label] = [(Math.PI * (k % n)) / (n - 1), k < n ? 0 : 1];
    const [x, y] = label ? [1 - Math.cos(angle), 0.5 - Math.sin(angle)] : [Math.cos(angle), Math.sin(angle)];
    return point(1.4 * (x - 0.5 + noise * random.normal()), 1.4 * (y - 0.25 + noise * random.normal()), label);
  });
}

function rings(n, radii, noise, seed) {
  const random = randomFrom(seed);
  return radii.flatMap((radius, label) => Array.from({ length: n }, (_, k) => {
    const angle = (2 * Math.PI * k) / n;
    return point(radius * Math.cos(angle) + noise * random.normal(), radius * Math.sin(angle) + noise * random.normal(),
      label);
  }));
}

function spiral(n, seed) {
  const random = randomFrom(seed);
  return Array.from({ length: 2 * n }, (_, k) => {
    const [t, label] = [(k % n) / (n - 1), k < n ? 0 : 1];
    const [angle, radius] = [3.4 * Math.PI * t + Math.PI * label, 0.25 + 1.75 * t];
    return point(radius * Math.cos(angle) + 0.04 * random.normal(), radius * Math.sin(angle) + 0.04 * random.normal(),
      label);
  });
}

function threeClouds(seed) {
  const random = randomFrom(seed);
  return [[-1.6, -1, 90], [1.6, -1.2, 215], [0.1, 1.6, 335]].flatMap(([cx, cy, degrees], label) => {
    const [c, s] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
    return Array.from({ length: 15 }, () => {
      const [a, b] = [random.normal(), 0.18 * random.normal()];
      return point(cx + a * c - b * s, cy + a * s + b * c, label);
    });
  });
}

function band(seed) {
  const random = randomFrom(seed);
  return [[-1.6, -1.3, 0], [0, 0, 1], [1.6, 1.3, 0]].flatMap(([x, y, label]) => cloud(random, 14, x, y, 0.4, 0.4, label));
}

function aroundCloud(seed) {
  const random = randomFrom(seed);
  const outside = Array.from({ length: 22 }, () => {
    const [angle, radius] = [Math.PI * (-0.4 + 1.55 * random.uniform()), 1.45 + 0.65 * random.uniform()];
    return point(radius * Math.cos(angle), radius * Math.sin(angle), 0);
  });
  return [...outside, ...cloud(random, 20, 0.05, 0.05, 0.36, 0.36, 1)];
}

function overlap(seed) {
  const random = randomFrom(seed);
  return [...cloud(random, 25, -1, 0.9, 0.6, 0.6, 0), ...cloud(random, 20, 0.9, -1.3, 0.6, 0.6, 0),
    ...cloud(random, 45, 0.8, 0.6, 0.9, 0.6, 1)];
}

function inliers(seed) {
  const random = randomFrom(seed);
  return [...cloud(random, 55, -0.7, -0.4, 0.45, 0.35, 0), ...cloud(random, 35, 0.9, 0.6, 0.3, 0.4, 0),
    point(-1.8, 1.6), point(2, -1.3), point(0.3, 1.9), point(1.9, 1.8)];
}

function sine(seed) {
  const random = randomFrom(seed);
  return Array.from({ length: 60 }, (_, k) => {
    const x = -2 + (4 * k) / 59;
    return point(x, 1.2 * Math.sin(2 * x) + 0.22 * random.normal());
  });
}

function eight(seed) {
  const random = randomFrom(seed);
  return Array.from({ length: 8 }, (_, k) => k).flatMap((k) =>
    cloud(random, 14, 1.5 * Math.cos((k * Math.PI) / 4), 1.5 * Math.sin((k * Math.PI) / 4), 0.24, 0.24, k));
}

const SVC = { machine: "svc", kernel: "rbf", C: 1, gamma: 1 };
const CUBE = { kernel: "poly", degree: 3, gamma: 1, coef0: 1 };

/** Name -> what the menu says, the points, and the parameters that fit them. */
export const PRESETS = {
  moons: { label: "Two moons", points: () => moons(50, 0.16, 1), set: { ...SVC, C: 3, gamma: 1.5 } },
  gap: { label: "Two clouds, a gap", points: () => gap(3), set: { ...SVC, kernel: "linear", C: 10 } },
  xor: { label: "XOR", points: () => corners(0.16, 12, 2), set: { ...SVC, C: 10, gamma: 1 } },
  xoroverlap: { label: "XOR, overlapping (Marsland 8.8)", points: () => corners(0.55, 25, 4), set: { ...SVC, ...CUBE, C: 0.1 } },
  marsland: { label: "A band (Marsland 8.7)", points: () => band(4), set: { ...SVC, ...CUBE, C: 0.1 } },
  bishop: { label: "Around a cloud (Bishop 7.2)", points: () => aroundCloud(5), set: { ...SVC, C: 1000, gamma: 1 } },
  bishopnu: { label: "Overlap (Bishop 7.4)", points: () => overlap(7), set: { machine: "nusvc", kernel: "rbf", nu: 0.35, gamma: 0.45 } },
  bishopclasses: { label: "Three classes (Bishop 4.2)", points: () => threeClouds(2), set: { ...SVC, kernel: "linear" } },
  circles: { label: "Circles", points: () => rings(40, [1.7, 0.8], 0.12, 6), set: { ...SVC, C: 2 } },
  spiral: { label: "Two spirals", points: () => spiral(60, 7), set: { ...SVC, C: 30, gamma: 6 } },
  classes: { label: "Eight classes", points: () => eight(8), set: { ...SVC, gamma: 2 } },
  oneclass: { label: "A cloud and strangers", points: () => inliers(9), set: { machine: "oneclass", kernel: "rbf", nu: 0.1, gamma: 0.6 } },
  sine: { label: "A noisy sine", points: () => sine(10), set: { machine: "svr", kernel: "rbf", C: 10, gamma: 1, epsilon: 0.3 } },
  large: { label: "300 points", points: () => moons(150, 0.22, 11), set: { ...SVC, gamma: 1.5 } },
};

function gap(seed) {
  const random = randomFrom(seed);
  return [...cloud(random, 18, -1, 0.7, 0.45, 0.45, 0), ...cloud(random, 18, 1, -0.7, 0.45, 0.45, 1)];
}
