/** The table of variables. Of many it has the first ones, and more as one scrolls down. */

import { h, little, name, pictureButton } from "./dom.js";

const PIECE = 60;
const COLUMNS = [["key", "Key"], ["value", "Value"], ["kind", "Kind"]];

export class VariableTable {
  #body = h("tbody");
  #rows = [];
  #drawn = 0;
  #editing = new Map();

  /** @param {{may: boolean, sort: Function, open: Function, remove: Function}} actions */
  constructor(actions) {
    this.actions = actions;
    this.heads = COLUMNS.map(([order, text]) =>
      h("th", { scope: "col", class: order },
        h("button", { type: "button", class: "sort", onclick: () => actions.sort(order) }, text)));
    this.end = h("div", { class: "end" });
    this.element = h("div", {},
      h("table", { class: "variables" },
        h("thead", {}, h("tr", {}, this.heads,
          h("th", { scope: "col", class: "acts" }, h("span", { class: "unseen" }, "Actions")))),
        this.#body),
      this.end);
    new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && this.#more(),
      { rootMargin: "600px" }).observe(this.end);
  }

  /** Shows these, in this order. What is open in a row stays as it is. */
  draw(variables, { order, descending }) {
    const ids = new Set(variables.map((one) => one.id));
    const elsewhere = [...this.#editing.keys()].filter((id) => !ids.has(id)).map((id) => ({ id }));
    this.#rows = [...elsewhere, ...variables]; // what is being edited is never out of sight
    this.#drawn = 0;
    this.heads.forEach((head, at) => {
      const direction = descending ? "descending" : "ascending";
      if (COLUMNS[at][0] === order) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    });
    this.#body.replaceChildren();
    this.#more();
  }

  /** Puts something in the place of a variable's row, until `close`. */
  open(variable, element) {
    const row = h("tr", { class: "open" }, h("td", { colspan: COLUMNS.length + 1 }, element));
    this.#editing.set(variable.id, row);
    this.#row(variable.id)?.replaceWith(row);
  }

  /** Shows the row of a variable again, as it is now, and puts the focus there. */
  close(id, variable) {
    const row = this.#editing.get(id);
    this.#editing.delete(id);
    if (!variable) return row.remove();
    const made = this.#make(variable);
    row.replaceWith(made);
    made.querySelector("button").focus();
  }

  /** Says beside a variable what has become of it, until it is drawn again: a write-only one looks as before. */
  mark(id, text) {
    this.#row(id)?.querySelector(".kind").append(h("span", { class: "badge" }, text));
  }

  /** Puts the focus on a variable, if it is shown. */
  focus(id) {
    this.#row(id)?.querySelector("button")?.focus();
  }

  #row(id) {
    return this.#body.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }

  #more() {
    if (this.#drawn >= this.#rows.length) return;
    const piece = this.#rows.slice(this.#drawn, this.#drawn + PIECE);
    this.#drawn += piece.length;
    this.#body.append(...piece.map((one) => this.#editing.get(one.id) ?? this.#make(one)));
    // Where the end can still be seen, nothing scrolls and nobody asks for more.
    if (this.end.getBoundingClientRect().top < innerHeight) requestAnimationFrame(() => this.#more());
  }

  #make(one) {
    const { may, open, remove } = this.actions;
    const label = may ? `Edit ${one.key}` : `Show ${one.key}`;
    return h("tr", { "data-id": one.id },
      h("th", { scope: "row", class: "key" }, h("span", { class: "name" }, name(one.key)),
        one.description && h("span", { class: "description" }, name(one.description))),
      h("td", { class: "value" }, little(one)),
      h("td", { class: "kind" }, h("span", { class: "category" }, one.category),
        one.hcl && h("span", { class: "badge" }, "hcl")),
      h("td", { class: "acts" },
        pictureButton(may ? "edit" : "view", label, () => open(one.id)),
        may && pictureButton("remove", `Delete ${one.key}`, () => remove(one.id))));
  }
}
