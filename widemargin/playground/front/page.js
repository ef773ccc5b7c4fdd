// The front-end as a page of its own: from a file, or from the server of `widemargin toy`.

import { render } from "./toy.js";

/** What anywidget gives in a notebook: values, listeners, and `save_changes`, which here asks the server. */
export class PageModel {
  constructor(values) {
    this.values = values;
    this.listeners = {};
    this.asked = 0;
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
  }

  on(event, listener) {
    (this.listeners[event] ??= []).push(listener);
  }

  async save_changes() {
    const { request, home } = this.values;
    if (home !== "server" || !request || request.number === this.asked) return;
    this.asked = request.number;
    let answer;
    try {
      const reply = await fetch("verify", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) });
      answer = reply.ok ? await reply.json() : { text: await reply.text() };
    } catch {
      answer = { text: "The server has ended: start `widemargin toy` again." };
    }
    this.set("answer", { ...answer, number: request.number });
    (this.listeners["change:answer"] ?? []).forEach((listener) => listener());
  }
}

/** Fill the page. */
export function start(document) {
  const values = JSON.parse(document.getElementById("wm-values").textContent);
  render({ model: new PageModel(values), el: document.getElementById("wm-toy") });
}
