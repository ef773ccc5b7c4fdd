// Colours and markers of widemargin/plots/palette.py: the classes are those of Okabe and Ito (2008, "Color Universal
// Design") and two more; every class has its own marker as well, so that nothing depends on colour alone.

const LIGHT = {
  dark: false, paper: "#ffffff", ink: "#222222", faint: "#6b6b6b", line: "#d5d5d5", panel: "#f5f5f2",
  colours: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D31", "#6A51A3"],
  first: "#A50F15", second: "#6A51A3", zero: "#9a9a9a", free: "#0072B2", bound: "#D55E00",
};
const DARK = {
  dark: true, paper: "#15171a", ink: "#f2f2f2", faint: "#a8a8a8", line: "#3a3e44", panel: "#1f2226",
  colours: ["#56B4E9", "#F58A45", "#1FC79A", "#F0A6CE", "#F0C541", "#4C86E0", "#BFA06A", "#A793F0"],
  first: "#FF6B6B", second: "#A793F0", zero: "#7d8288", free: "#56B4E9", bound: "#F58A45",
};
export const CLASS_WORDS = ["circle", "square", "triangle", "diamond", "turned triangle", "plus", "cross", "pentagon"];

/** The theme for "light", "dark" or "auto", which follows the system. */
export function themeOf(name) {
  if (name === "auto") return matchMedia("(prefers-color-scheme: dark)").matches ? DARK : LIGHT;
  return name === "dark" ? DARK : LIGHT;
}

/** Red, green and blue of a colour. */
export function rgb(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

const polygon = (n, turn, size) => (r) => {
  const corner = (k) => {
    const angle = turn + (2 * Math.PI * k) / n;
    return `${(size * r * Math.cos(angle)).toFixed(2)} ${(size * r * Math.sin(angle)).toFixed(2)}`;
  };
  return `M${Array.from({ length: n }, (_, k) => corner(k)).join("L")}Z`;
};
const plus = (turn) => (r) => {
  const [a, b] = [0.38 * r, 1.15 * r];
  const path = [[a, b], [a, a], [b, a], [b, -a], [a, -a], [a, -b], [-a, -b], [-a, -a], [-b, -a], [-b, a], [-a, a], [-a, b]];
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  return `M${path.map(([x, y]) => `${(c * x - s * y).toFixed(2)} ${(s * x + c * y).toFixed(2)}`).join("L")}Z`;
};
const MARKERS = [
  (r) => `M${r} 0A${r} ${r} 0 1 1 ${-r} 0A${r} ${r} 0 1 1 ${r} 0Z`,
  polygon(4, Math.PI / 4, 1.25),
  polygon(3, -Math.PI / 2, 1.35),
  polygon(4, 0, 1.35),
  polygon(3, Math.PI / 2, 1.35),
  plus(0),
  plus(Math.PI / 4),
  polygon(5, -Math.PI / 2, 1.2),
];

/** Outline of the marker of a class around the origin, for a `path` element. */
export function marker(label, radius) {
  return MARKERS[label % MARKERS.length](radius);
}
