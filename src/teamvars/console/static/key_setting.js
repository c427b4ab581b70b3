/** Rows of workspaces or of variable sets that one ticks, to set a key in all of them. */

import { categories, late } from "./api.js";
import { Choosing } from "./choosing.js";
import { button, count, h } from "./dom.js";
import { stay } from "./hands.js";

/** @import { Owner } from "./several.js" */

/** What rows are of, and whether a form may name others than are ticked. */
const TYPES = {
  workspaces: { noun: "workspace", isNamed: true },
  varsets: { noun: "variable set", isNamed: false },
};

export class KeySetting {
  /** @type {string[]} */
  #names = [];

  /**
   * `base` is the path of the organization; `searched()` is what one looks for as a key, and `again()` shows what there is now.
   * @param {{type: keyof typeof TYPES, base: string, rows: Element, signal: AbortSignal, again: () => Promise<unknown>,
   *   searched?: () => string}} said
   */
  constructor({ type, base, rows, signal, again, searched = () => "" }) {
    this.type = type;
    this.base = base;
    this.signal = signal;
    this.again = again;
    this.searched = searched;
    const { noun, isNamed } = TYPES[type];
    const many = h("span", {});
    this.button = button(h("span", {}, "Set a key", many, " …"), () => this.#open(), { picture: "edit", hidden: true });
    /** @type {Choosing<Owner>} */
    this.choosing = new Choosing(noun, rows, ({ length }) => {
      many.textContent = length ? ` in ${count(length, noun)}` : "";
      const hadFocus = document.activeElement === this.button;
      this.button.hidden = !length && (!isNamed || this.choosing.bar.hidden);
      if (hadFocus && this.button.hidden) document.querySelector("h1")?.focus();
    });
  }

  /**
   * The box of one that one may write.
   * @param {string} id
   * @param {string} called
   */
  boxOf(id, called) {
    return this.choosing.boxOf({ type: this.type, id, name: called }, called);
  }

  async #open() {
    const isStill = stay();
    const { signal } = this;
    const [{ keyDialog }, words] = await Promise.all([late(() => import("./several.js")), categories({ signal })]);
    if (signal.aborted || !isStill()) return;
    const { chosen } = this.choosing;
    const start = { base: this.base, words, key: this.searched(), chosen, names: this.#names };
    keyDialog(start, signal, (left) => this.#done(chosen, left));
  }

  /**
   * What did not get it stays chosen, beside what one chooses while it is read again.
   * @param {Owner[]} chosen
   * @param {Owner[]} left
   */
  async #done(chosen, left) {
    this.#names = left.map((one) => one.name);
    this.choosing.leave(chosen, left);
    await this.again();
  }
}
