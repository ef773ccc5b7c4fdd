// Tables: text to columns, and two of the columns with a third for the class to points.

import { MOST_CLASSES, MOST_POINTS } from "./state.js";

const LARGEST_FILE = 20e6; // bytes; a table of 300 points is far smaller

/** Columns of a text: [{ name, cells }]. Commas, semicolons or tabs; the first line is a header unless all are numbers. */
export function parseTable(text) {
  if (text.length > LARGEST_FILE) throw new RangeError("The file is larger than 20 MB: take a part of it.");
  const head = text.slice(0, text.indexOf("\n") < 0 ? text.length : text.indexOf("\n"));
  const separator = [",", ";", "\t"].sort((a, b) => head.split(b).length - head.split(a).length)[0];
  const rows = rowsOf(text, separator).filter((row) => row.some((cell) => cell.trim() !== ""));
  if (rows.length < 2) throw new RangeError("The file has no two lines of a table: a CSV with a header is expected.");
  const hasHeader = !rows[0].every((cell) => isNumber(cell));
  const names = hasHeader ? rows.shift().map((cell) => cell.trim()) : rows[0].map((_, k) => `column ${k + 1}`);
  return names.map((name, k) => ({ name: name || `column ${k + 1}`, cells: rows.map((row) => (row[k] ?? "").trim()) }));
}

function rowsOf(text, separator) {
  const rows = [[""]];
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    const row = rows[rows.length - 1];
    if (quoted) {
      if (letter === '"' && text[at + 1] === '"') row[row.length - 1] += text[++at];
      else if (letter === '"') quoted = false;
      else row[row.length - 1] += letter;
    } else if (letter === '"') quoted = true;
    else if (letter === separator) row.push("");
    else if (letter === "\n") rows.push([""]);
    else if (letter !== "\r") row[row.length - 1] += letter;
  }
  return rows;
}

const isNumber = (cell) => cell.trim() !== "" && Number.isFinite(Number(cell));

/** Columns that are mostly numbers, and those with two to eight different values. */
export function columnKinds(columns) {
  const numeric = columns.filter(({ cells }) => cells.filter(isNumber).length > 0.5 * cells.length);
  const classes = columns.filter(({ cells }) => {
    const different = new Set(cells.filter(Boolean)).size;
    return different >= 2 && different <= MOST_CLASSES;
  });
  return { numeric, classes };
}

/** Points of two columns, classes of a third (or none); with notes about what was left out. */
export function pointsOfTable(x, y, label, standardise) {
  const notes = [];
  const names = label ? [...new Set(label.cells.filter(Boolean))].sort().slice(0, MOST_CLASSES) : [];
  let rows = x.cells.map((cell, k) => [cell, y.cells[k], label ? names.indexOf(label.cells[k]) : 0])
    .filter(([a, b, c]) => isNumber(a) && isNumber(b) && c >= 0)
    .map(([a, b, c]) => [Number(a), Number(b), c]);
  const lost = x.cells.length - rows.length;
  if (lost) notes.push(`${lost} rows without two numbers or a class are left out.`);
  if (rows.length > MOST_POINTS) {
    notes.push(`${MOST_POINTS} of the ${rows.length} rows are shown, evenly chosen.`);
    rows = Array.from({ length: MOST_POINTS }, (_, k) => rows[Math.floor((k * rows.length) / MOST_POINTS)]);
  }
  if (standardise && rows.length) {
    for (const k of [0, 1]) {
      const mean = rows.reduce((sum, row) => sum + row[k], 0) / rows.length;
      const deviation = Math.sqrt(rows.reduce((sum, row) => sum + (row[k] - mean) ** 2, 0) / rows.length) || 1;
      for (const row of rows) row[k] = Number(((row[k] - mean) / deviation).toPrecision(5));
    }
  }
  return { points: rows, notes, names };
}
