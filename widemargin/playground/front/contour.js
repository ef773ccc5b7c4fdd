// Lines where a function on a grid has a given value: marching squares, with the pieces joined into long lines, so that
// dashes run through.

/** Lines of `values[b * width + a] === level` as lists of [a, b] in units of the grid. */
export function contourLines(values, width, height, level) {
  const pieces = new Map(); // edge of the grid -> edges that a piece joins it with
  const join = (one, other) => {
    if (!pieces.has(one)) pieces.set(one, []);
    if (!pieces.has(other)) pieces.set(other, []);
    pieces.get(one).push(other);
    pieces.get(other).push(one);
  };
  const flat = (a, b) => 2 * (b * width + a); // edge from (a, b) to (a + 1, b); + 1: to (a, b + 1)
  for (let b = 0; b + 1 < height; b++) {
    for (let a = 0; a + 1 < width; a++) {
      const at = b * width + a;
      const kind = (values[at] > level ? 1 : 0) | (values[at + 1] > level ? 2 : 0)
        | (values[at + width + 1] > level ? 4 : 0) | (values[at + width] > level ? 8 : 0);
      if (kind === 0 || kind === 15) continue;
      const [top, right, bottom, left] = [flat(a, b), flat(a + 1, b) + 1, flat(a, b + 1), flat(a, b) + 1];
      if (kind === 5 || kind === 10) {
        const middle = (values[at] + values[at + 1] + values[at + width] + values[at + width + 1]) / 4 > level;
        if ((kind === 5) === middle) [[top, right], [bottom, left]].forEach((pair) => join(...pair));
        else [[top, left], [right, bottom]].forEach((pair) => join(...pair));
      } else {
        const sides = [[1, 2, top], [2, 4, right], [8, 4, bottom], [1, 8, left]];
        join(...sides.filter(([p, q]) => !(kind & p) !== !(kind & q)).map(([, , edge]) => edge));
      }
    }
  }
  const place = (edge) => {
    const [at, upright] = [edge >> 1, edge & 1];
    const next = at + (upright ? width : 1);
    const share = (level - values[at]) / (values[next] - values[at]);
    const [a, b] = [at % width, Math.floor(at / width)];
    return upright ? [a, b + share] : [a + share, b];
  };
  return chains(pieces).map((chain) => chain.map(place));
}

/** Join pieces into chains: first the open ones, from their ends, then the closed. */
function chains(pieces) {
  const found = [];
  const walk = (start) => {
    const chain = [start];
    let here = start;
    while (pieces.get(here)?.length) {
      const next = pieces.get(here).pop();
      const back = pieces.get(next);
      back.splice(back.indexOf(here), 1);
      chain.push(next);
      here = next;
    }
    if (chain.length > 1) found.push(chain);
  };
  for (const [edge, others] of pieces) if (others.length === 1) walk(edge);
  for (const [edge, others] of pieces) while (others.length) walk(edge);
  return found;
}
