/** Names that are suggested under a field of many, for the word that one types. */

import { button, h, name } from "./dom.js";
import { afterLastKey } from "./paged_list.js";
import { redraw } from "./redraw.js";

const SUGGESTED = 6;
const FEWEST_LETTERS = 2;

/** Those that `find(word)` has. */
export class Suggestions {
  /**
   * @param {HTMLTextAreaElement} input
   * @param {string} label
   * @param {(word: string) => Promise<string[]>} find
   */
  constructor(input, label, find) {
    this.input = input;
    this.find = find;
    this.element = h("div", { class: "suggested", role: "group", "aria-label": label });
    input.addEventListener("input", afterLastKey(() => this.#suggest()));
  }

  get #word() {
    return this.input.value.slice(0, this.input.selectionStart).split(/[\s,;]/).at(-1) ?? "";
  }

  async #suggest() {
    const word = this.#word;
    const found = word.length < FEWEST_LETTERS ? [] : await this.find(word).catch(() => []);
    if (word !== this.#word) return;
    const names = found.slice(0, SUGGESTED).filter((one) => one !== word);
    redraw(this.element, names.map((one) => ({ key: one, seen: true,
      make: () => button(name(one), () => this.#take(one), { "aria-label": `Take ${one}` }) })));
  }

  /**
   * Puts a name in the place of the word, and goes on.
   * @param {string} called
   */
  #take(called) {
    const end = this.input.selectionStart;
    this.input.setRangeText(`${called}\n`, end - this.#word.length, end, "end");
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    redraw(this.element, []);
    this.input.focus();
  }
}
