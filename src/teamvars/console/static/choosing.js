/** Rows that one ticks, to do something with all of them. */

import { count, h } from "./dom.js";
import { takeBox } from "./fields.js";

/**
 * What is ticked, by id; it stays so while its row is not shown.
 * @template {{id: string}} T
 */
export class Choosing {
  /** @type {Map<string, {one: T, box: HTMLInputElement}>} */
  #boxes = new Map();

  /**
   * @param {string} noun of one of them
   * @param {Element} rows what has those that are shown
   * @param {(chosen: T[]) => unknown} tell is called with what is ticked, once that is something else
   */
  constructor(noun, rows, tell) {
    this.noun = noun;
    this.rows = rows;
    this.tell = tell;
    this.all = h("input", { type: "checkbox", onchange: () => {
      for (const box of this.#shown) box.checked = this.all.checked;
      this.told();
    } });
    this.many = h("span", {});
    this.acts = h("div", { class: "actions" });
    this.bar = h("div", { class: "toolbar", hidden: true }, h("label", { class: "take" }, this.all, " ", this.many), this.acts);
  }

  get chosen() {
    return [...this.#boxes.values()].filter(({ box }) => box.checked).map(({ one }) => one);
  }

  get #shown() {
    return [...this.#boxes.values()].map(({ box }) => box).filter((box) => this.rows.contains(box));
  }

  /**
   * Says how many are ticked. Where all that there are have rows, nobody unticks what has none: it is gone.
   * @param {boolean} [areAll]
   */
  told(areAll = false) {
    if (areAll) for (const [id, { box }] of this.#boxes) if (!this.rows.contains(box)) this.#boxes.delete(id);
    const { chosen } = this;
    const shown = this.#shown;
    this.bar.hidden = !shown.length && !chosen.length;
    this.all.checked = shown.length > 0 && shown.every((box) => box.checked);
    this.many.textContent = chosen.length ? `${count(chosen.length, this.noun)} chosen` : `Choose all ${this.noun}s`;
    this.tell(chosen);
  }

  /**
   * The box of one that is shown, and what it is called.
   * @param {T} one
   * @param {string} called
   */
  boxOf(one, called) {
    const { element, box } = takeBox(`Choose ${called}`,
      { checked: this.#boxes.get(one.id)?.box.checked, onchange: () => this.told() });
    this.#boxes.set(one.id, { one, box });
    return element;
  }

  /**
   * Of what was chosen, what is left stays so, beside what somebody has chosen since.
   * @param {T[]} chosen
   * @param {T[]} left
   */
  leave(chosen, left) {
    const were = new Set(chosen.map(({ id }) => id));
    this.keep(new Set([...left, ...this.chosen.filter(({ id }) => !were.has(id))].map(({ id }) => id)));
  }

  /**
   * These are ticked, of those that are shown, and no others.
   * @param {Set<string>} ids
   */
  keep(ids) {
    for (const [id, { box }] of this.#boxes) box.checked = ids.has(id);
    this.told();
  }
}
