/** The table of variables. The first rows are there at once, and all of them soon: to be found, and to be printed. */

import { button, h, little, name, pictureButton, spelled } from "./dom.js";
import { lead } from "./hands.js";
import { address } from "./pages.js";
import { redraw } from "./redraw.js";

/** @import { Attributes } from "./dom.js" */
/** @import { Order, Variable } from "./variable_list.js" */

/**
 * Ways to stop what is going on with a variable: a text, and what it does.
 * @typedef {[string, () => unknown][]} Ways
 */

/** No row is lower: below the table's head a window has room for so many at most, and whoever types waits for no other. */
const LOWEST_ROW_PX = 40;
const MORE = 240;
/** So many rows are taken away together. */
const MANY = 300;
/** Whoever types in the filter is not kept waiting by rows that the next key takes away. */
const PAUSE_MS = 300;
/** @type {[Order, string][]} */
const COLUMNS = [["key", "Key"], ["value", "Value"], ["kind", "Kind"]];

export class VariableTable {
  #body = h("tbody", { role: "rowgroup" });
  /** @type {Variable[]} */
  #rows = [];
  #drawn = 0;
  #piece = 0;
  #look = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {Map<string, {variable: Variable, row: Element}>} */
  #editing = new Map();
  /** @type {Map<string, {text: string, acts: Ways}>} */
  #going = new Map();
  /** @type {Map<string, {version: string, text: string}>} */
  #marks = new Map();

  /**
   * @param {{may: boolean, sort: (order: Order) => unknown, open: (id: string) => unknown, remove: (id: string) => unknown}} actions
   * @param {AbortSignal} signal
   */
  constructor(actions, signal) {
    this.actions = actions;
    this.heads = COLUMNS.map(([order, text]) =>
      h("th", { scope: "col", role: "columnheader", class: order },
        h("button", { type: "button", class: "sort", onclick: () => actions.sort(order) }, text)));
    this.element = h("table", { class: "variables", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads,
        h("th", { scope: "col", role: "columnheader", class: "acts" }, h("span", { class: "unseen" }, "Actions")))),
      this.#body);
    addEventListener("beforeprint", () => this.#put(Infinity), { signal });
    addEventListener("keydown", (event) => {
      if (event.key === "F3" || (event.key === "f" && (event.ctrlKey || event.metaKey))) this.#put(Infinity);
    }, { signal, capture: true });
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
  }

  /**
   * Shows these, in this order. What is open in a row stays as it is; `look` says by what they were chosen.
   * @param {Variable[]} variables
   * @param {{order: Order, descending: boolean, look: string}} list
   */
  draw(variables, { order, descending, look }) {
    const top = this.#drawn ? Math.max(this.#body.getBoundingClientRect().top, 0) : -address.top;
    this.#piece = Math.ceil(Math.max(innerHeight - top, LOWEST_ROW_PX) / LOWEST_ROW_PX);
    this.#rows = this.#withEdited(variables);
    this.heads.forEach((head, at) => {
      const direction = descending ? "descending" : "ascending";
      if (COLUMNS[at][0] === order) head.setAttribute("aria-sort", direction);
      else head.removeAttribute("aria-sort");
    });
    const isSame = look === this.#look;
    this.#look = look;
    if (!isSame && this.#drawn > MANY && !this.#holds()) this.#begin();
    this.#put(isSame ? Math.max(this.#drawn, this.#piece) : this.#piece);
  }

  /**
   * What is being edited stays, behind what it stood behind, even where it is not wanted or is gone.
   * @param {Variable[]} variables
   */
  #withEdited(variables) {
    if (!this.#editing.size) return variables;
    const ids = new Set(variables.map((one) => one.id));
    const rows = [...variables];
    for (const [id, { variable }] of this.#editing) {
      if (ids.has(id)) continue;
      const at = this.#rows.findIndex((one) => one.id === id);
      const before = this.#rows.slice(0, Math.max(at, 0)).findLast((one) => ids.has(one.id));
      rows.splice(rows.findIndex((one) => one.id === before?.id) + 1, 0, variable);
    }
    return rows;
  }

  /**
   * Puts something in the place of a variable's row, until `close`.
   * @param {Variable} variable
   * @param {HTMLElement} element
   */
  open(variable, element) {
    const cell = h("td", { colspan: COLUMNS.length + 1, role: "cell", "data-label": spelled(variable.key) }, element);
    const row = h("tr", { class: "open", role: "row" }, cell);
    this.#editing.set(variable.id, { variable, row });
    this.#put(this.#drawn);
  }

  /**
   * Shows the row of a variable again, as `variable` is now, and puts the focus there; undefined where it is gone. What
   * was opened there since `element` was left stays.
   * @param {string} id
   * @param {Variable | undefined} variable
   * @param {HTMLElement} element
   */
  close(id, variable, element) {
    const row = this.#editing.get(id)?.row;
    if (row && !row.contains(element)) return;
    this.#editing.delete(id);
    this.#rows = this.#rows.flatMap((one) => (one.id !== id ? [one] : variable ? [variable] : []));
    this.#put(this.#drawn);
    if (variable) this.focus(id);
  }

  /**
   * Says in the row of a variable that it is going, with ways to stop that, until `stays`.
   * @param {string} id
   * @param {string} text
   * @param {Ways} acts
   */
  goes(id, text, acts) {
    this.#going.set(id, { text, acts });
    this.#put(this.#drawn);
    this.focus(id);
  }

  /** @param {string} id */
  stays(id) {
    const hadFocus = this.#row(id)?.contains(document.activeElement);
    this.#going.delete(id);
    this.#put(this.#drawn);
    if (hadFocus) [...(this.#row(id)?.querySelectorAll("button") ?? [])].at(-1)?.focus({ preventScroll: true });
  }

  /**
   * Says beside a variable what has become of it, as long as it is this version: a write-only one looks as before.
   * @param {Pick<Variable, "id" | "version">} variable
   * @param {string} text
   */
  mark({ id, version }, text) {
    this.#marks.set(id, { version, text });
    this.#put(this.#drawn);
  }

  /**
   * Puts the focus on a variable, if it is shown and nobody types elsewhere; nothing scrolls.
   * @param {string} id
   */
  focus(id) {
    const at = this.#rows.findIndex((one) => one.id === id);
    if (at >= this.#drawn) this.#put(at + 1);
    lead(this.#row(id)?.querySelector("button"));
  }

  /** @param {string} id */
  #row(id) {
    return this.#body.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }

  /** Whether something in it has to stay as it is. */
  #holds() {
    return this.#editing.size > 0 || this.#going.size > 0 || this.#body.contains(document.activeElement);
  }

  /** Begins anew: a browser takes many rows away much faster together than one by one. */
  #begin() {
    const old = this.#body;
    this.#body = h("tbody", { role: "rowgroup" });
    old.replaceWith(this.#body);
  }

  /** @param {number} drawn */
  #put(drawn) {
    this.#drawn = drawn;
    const isHeld = (/** @type {Variable} */ { id }) => this.#editing.has(id) || this.#going.has(id);
    const held = this.#holds() ? this.#rows.slice(drawn).filter(isHeld) : [];
    redraw(this.#body, [...this.#rows.slice(0, drawn), ...held].map((one, at) => this.#entry(one, at >= this.#piece)));
    clearTimeout(this.#timer);
    if (drawn < this.#rows.length) this.#timer = setTimeout(() => this.#put(drawn + MORE), drawn > this.#piece ? 0 : PAUSE_MS);
  }

  /**
   * @param {Variable} one
   * @param {boolean} isFar whether it is made for a place beyond the window
   * @returns {{key: string, seen: unknown, make: () => Element}}
   */
  #entry(one, isFar) {
    const row = this.#editing.get(one.id)?.row;
    if (row) return { key: one.id, seen: row, make: () => row };
    const going = this.#going.get(one.id);
    const mark = this.#marks.get(one.id);
    const text = mark?.version === one.version ? mark.text : "";
    const seen = [one.version, going?.text, text, one.from?.text, one.beaten?.text].join();
    return { key: one.id, seen, make: () => this.#make(one, going, text, isFar) };
  }

  /**
   * @param {Variable} one
   * @param {{text: string, acts: Ways} | undefined} going
   * @param {string} mark
   * @param {boolean} isFar
   */
  #make(one, going, mark, isFar) {
    /** @type {Attributes["onclick"]} */
    const open = ({ target }) => {
      if (!going && !target.closest("button, a") && getSelection()?.isCollapsed) this.actions.open(one.id);
    };
    const states = [isFar && "far", going && "going", one.from && "inherited", one.beaten && "beaten"].filter(Boolean);
    return h("tr", { "data-id": one.id, role: "row", class: states.join(" ") || null, onclick: one.from ? undefined : open },
      h("th", { scope: "row", role: "rowheader", class: "key" }, h("span", { class: "name" }, name(one.key)),
        one.description && h("span", { class: "description" }, name(one.description)),
        one.from?.make(), one.beaten?.make()),
      h("td", { role: "cell", class: "value" }, going ? going.text : little(one)),
      h("td", { role: "cell", class: "kind" }, h("span", { class: "category" }, one.category),
        one.hcl && h("span", { class: "badge" }, "hcl"), mark && h("span", { class: "badge" }, mark)),
      h("td", { role: "cell", class: "acts" }, going
        ? going.acts.map(([text, act]) => button(text, act, { kind: "bare", "aria-label": `${text}: ${one.key}` }))
        : !one.from && this.#acts(one)));
  }

  /** @param {Variable} variable */
  #acts({ id, key }) {
    const { may, open, remove } = this.actions;
    return [pictureButton(may ? "edit" : "view", `${may ? "Edit" : "Show"} ${key}`, () => open(id)),
      may && pictureButton("remove", `Delete ${key}`, () => remove(id))];
  }
}
