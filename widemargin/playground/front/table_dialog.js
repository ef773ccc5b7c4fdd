// Opening a table: a file, then the choice of two columns and a class.

import { columnKinds, parseTable, pointsOfTable } from "./csv.js";

const escape = (text) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

export function addTableDialog(app) {
  const file = app.find("file");
  app.root.querySelector('[data-do="csv"]').addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    if (file.files.length) openTable(app, await file.files[0].text(), file.files[0].name);
    file.value = "";
  });
}

/** Show the given columns { x, y, label, standardise } of a table, or ask for them; what cannot be read is a sentence. */
export function openTable(app, text, name, given = {}) {
  let columns;
  try {
    columns = parseTable(text);
  } catch (error) {
    return complain(app, `${name}: ${error.message}`);
  }
  const { numeric, classes } = columnKinds(columns);
  if (numeric.length < 2) return complain(app, `${name}: two columns of numbers are needed, and it has ${numeric.length}.`);
  if (given.x && given.y) {
    const wanted = [given.x, given.y, ...(given.label ? [given.label] : [])];
    const chosen = wanted.map((one) => columns.find((column) => column.name === one));
    const missing = wanted.find((_, k) => !chosen[k]);
    if (missing) {
      return complain(app, `${name} has no column “${missing}”; its columns are ${columns.map((column) => column.name).join(", ")}.`);
    }
    return show(app, chosen, given.standardise);
  }
  const menu = (role, list, chosen) => `<select data-column="${role}">${list.map((column) =>
    `<option value="${columns.indexOf(column)}" ${column === chosen ? "selected" : ""}>${escape(column.name)}</option>`).join("")}</select>`;
  const label = classes.find((column) => !numeric.slice(0, 2).includes(column));
  const dialog = app.find("dialog");
  dialog.innerHTML = `<form method="dialog"><p><b>${escape(name)}</b>: ${columns[0].cells.length} rows</p>
    <label>across ${menu("x", numeric, numeric[0])}</label><label>up ${menu("y", numeric, numeric[1])}</label>
    <label>class ${menu("label", classes, label).replace(">", '><option value="-1">none</option>')}</label>
    <label><input type="checkbox" checked data-column="standardise"> scale both to mean 0, deviation 1</label>
    <menu><button value="">Cancel</button><button value="show">Show</button></menu></form>`;
  const get = (role) => dialog.querySelector(`[data-column="${role}"]`);
  if (!label) get("label").value = "-1";
  dialog.onclose = () => {
    if (dialog.returnValue !== "show") return;
    const [x, y, c] = ["x", "y", "label"].map((role) => columns[Number(get(role).value)]);
    show(app, [x, y, c], get("standardise").checked);
  };
  dialog.returnValue = ""; // Escape leaves it as it was
  dialog.showModal();
  return undefined;
}

function show(app, [x, y, label], standardise) {
  const { points, notes } = pointsOfTable(x, y, label, standardise);
  app.set({ points, window: null });
  app.window = null;
  app.complaint = [...notes, app.complaint].filter(Boolean).join(" ");
}

function complain(app, sentence) {
  app.complaint = sentence;
  app.ask();
}
