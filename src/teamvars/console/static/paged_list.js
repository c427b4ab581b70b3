/** Lists in pages, which are narrowed as one types. */

import { Refused, newest, readPage } from "./api.js";
import { announce, button, count, h, icon } from "./dom.js";
import { isLeft, settleNew } from "./hands.js";
import { address } from "./pages.js";
import { redraw } from "./redraw.js";

/** @import { Page } from "./api.js" */
/** @import { Attributes } from "./dom.js" */

const WAIT_MS = 200;
/** No page of rows that has another one behind it is lower. */
const LOWEST_PAGE_PX = 4000;
/** No name, address or key is longer, nor what is looked for; an address that said more would lead nowhere. */
export const LONGEST = 256;
/** By what an address says which words a list is narrowed to. */
const WORDS = "q";

let made = 0;

/** @typedef {Parameters<typeof redraw>[1]} Entries */

/**
 * A list of the API, and how many there are in it.
 * @template {{id: string}} R
 * @template {{id: string}} [I=never]
 */
export class PagedList {
  #asks = newest();
  #isReading = false;
  /** The path of what is shown. */
  #shown = "";
  /** @type {Entries} */
  #entries = [];
  #last = Math.ceil((address.top + innerHeight) / LOWEST_PAGE_PX);
  #next = 1;
  total = 0;

  /**
   * @param {{path: (words: string) => string, row: (one: R, included: I[]) => Element, noun: string,
   *   all?: string, none?: string, nothing: () => Element, state?: () => unknown, drawn?: (areAll: boolean) => unknown, filter?: string,
   *   signal: AbortSignal}} said
   *   `path` is of those with these words; `all` comes after how many there are, `none` is said where none has the
   *   words, and `nothing` is shown where there is none at all; `state` is what rows show that they do not say
   *   themselves; `drawn(areAll)` is called once rows are others; `filter` labels a field that narrows it, at first to
   *   what the address says
   */
  constructor(said) {
    const { path, row, noun, all: suffix = "", none = "", nothing, state = () => "", drawn = () => {}, filter = "", signal } = said;
    this.path = path;
    this.row = row;
    this.noun = noun;
    this.suffix = suffix;
    this.none = none;
    this.nothing = nothing;
    this.state = state;
    this.drawn = drawn;
    this.signal = signal;
    this.words = filter && address.said(WORDS);
    this.filter = filter && searchField(filter, (words) => this.draw(words), WORDS);
    this.lead = h("p", { class: "lead" });
    this.rows = h("ul", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.element = h("div", {}, this.lead, this.rows, this.more);
  }

  /** Shows those with these words, or the same once more; returns how many there are. */
  async draw(words = this.words) {
    const last = words === this.words ? this.#last : 1;
    this.words = words;
    await this.#read(1, last);
    if (words) announce(this.lead.textContent);
    return this.total;
  }

  /**
   * Shows one of them as it is now; returns its row.
   * @param {R} one
   * @param {I[]} included
   */
  put(one, included) {
    this.#entries = this.#entries.map((entry) => (entry.key === one.id ? this.#entry(one, included) : entry));
    redraw(this.rows, this.#entries);
    return this.rows.children[this.#entries.findIndex(({ key }) => key === one.id)];
  }

  /**
   * @param {R} one
   * @param {I[]} included
   * @returns {Entries[number]}
   */
  #entry(one, included) {
    return { key: one.id, seen: all(one, included) + this.state(), make: () => this.row(one, included) };
  }

  /**
   * The answer to a change of one of them. Where it is refused, what others have done is seen once that is told.
   * @template T
   * @param {Promise<T>} sent
   */
  async answer(sent) {
    try {
      return await sent;
    } catch (error) {
      if (error instanceof Refused && error.status !== 401) this.draw();
      throw error;
    }
  }

  /**
   * Shows these pages; `goesOn`: behind what is shown by then.
   * @param {number} first
   * @param {number} last
   * @param {boolean} [goesOn]
   */
  async #read(first, last, goesOn = false) {
    const isNewest = this.#asks();
    /** @type {Entries} */
    const found = [];
    let next = /** @type {number | null} */ (first);
    let total = 0;
    this.#isReading = true;
    try {
      while (next && next <= last) {
        /** @type {Page<R, I>} */
        const { items, included, ...page } = await readPage(this.path(this.words), next, { signal: this.signal });
        if (!isNewest()) return;
        [next, total] = [page.next, page.total];
        found.push(...items.map((one) => this.#entry(one, included)));
      }
    } catch (error) {
      if (isNewest() && !this.signal.aborted && this.#shown !== this.path(this.words)) this.#lack();
      throw error;
    } finally {
      if (isNewest()) this.#isReading = false;
    }
    const entries = new Map((goesOn ? this.#entries : []).map((one) => [one.key, one]));
    for (const one of found) if (!entries.has(one.key)) entries.set(one.key, one); // pages move while one looks
    this.#entries = [...entries.values()];
    this.#tell(next, total, last);
  }

  /** What was there was found by other words, and is not shown as if it had these. */
  #lack() {
    this.#shown = "";
    this.#entries = [];
    this.lead.hidden = true;
    this.rows.hidden = false;
    lacking(this.rows, this.more, () => this.#goOn());
    this.drawn(false);
  }

  /** Adds nothing to what is about to be other; where that could not be read, it is asked for once more. */
  async #goOn() {
    if (this.#isReading) return;
    const isShown = this.#shown === this.path(this.words);
    await settleNew(this.rows, () => (isShown ? this.#read(this.#next, this.#next, true) : this.draw()));
  }

  /**
   * @param {number | null} next
   * @param {number} total
   * @param {number} last
   */
  #tell(next, total, last) {
    const { noun, words } = this;
    this.#shown = this.path(words);
    this.#last = last;
    this.total = total;
    this.lead.textContent = [count(total, noun), words ? "found" : this.suffix].filter(Boolean).join(" ");
    const isEmpty = !total && !words;
    this.lead.hidden = this.rows.hidden = isEmpty;
    const none = { key: "none", seen: true, make: () => h("li", { class: "hint" }, this.none) };
    redraw(this.rows, total || isEmpty ? this.#entries : [none]);
    this.drawn(!words && !next);
    this.#next = next ?? last;
    const more = () => button("Show more", () => this.#goOn());
    if (isEmpty) redraw(this.more, [{ key: "nothing", seen: {}, make: () => this.nothing() }]);
    else redraw(this.more, next ? [{ key: "more", seen: true, make: more }] : []);
  }
}

/**
 * Says in the place of rows that they could not be read, and offers to try it again.
 * @param {Element} rows
 * @param {Element} more
 * @param {() => unknown} again
 */
export function lacking(rows, more, again) {
  redraw(rows, [{ key: "lacking", seen: true, make: () => h("li", { class: "hint" }, "This could not be read.") }]);
  redraw(more, [{ key: "again", seen: true, make: () => button("Try again", again) }]);
}

/**
 * All that a row may show of one of them: what it says, and what came with it.
 * @param {{id: string}} one
 * @param {{id: string}[]} included
 */
function all(one, included) {
  const said = JSON.stringify(one);
  return said + JSON.stringify(included.filter(({ id }) => said.includes(id)));
}

/**
 * A field that says what is in it, shortly after the last key. What it begins with is in the address where `word` names it.
 * @param {string} label
 * @param {(words: string) => unknown} say
 * @param {string} [word]
 */
export function searchField(label, say, word) {
  const act = afterLastKey(() => {
    if (isLeft(input)) return;
    const words = input.value.trim();
    if (word) address.keep(word, words);
    return say(words);
  });
  /** @type {HTMLInputElement} */
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: "false",
    autocapitalize: "none", maxlength: LONGEST, value: word ? address.said(word) : "", oninput: act });
  return h("div", { class: "search" }, icon("search"), input);
}

/**
 * A field for a name, and the list of names it suggests: those of `pathOf(words)`, or of all where there are no words.
 * Where none come, the name is typed without.
 * @param {(words: string) => string} pathOf
 * @param {Attributes} [attributes]
 */
export function suggesting(pathOf, attributes = {}) {
  const names = h("datalist", { id: `names-${++made}` });
  const suggest = async () => {
    const words = input.value.trim();
    /** @type {Page<{attributes: {name: string}}, never> | null} */
    const found = await readPage(pathOf(words), 1).catch(() => null);
    if (words !== input.value.trim()) return;
    names.replaceChildren(...(found?.items ?? []).map((one) => h("option", { value: one.attributes.name })));
  };
  /** @type {HTMLInputElement} */
  const input = h("input", { list: names.id, spellcheck: "false", autocapitalize: "none", maxlength: 90,
    oninput: afterLastKey(suggest), ...attributes });
  suggest();
  return { input, names };
}

/**
 * What acts shortly after the last key.
 * @param {() => unknown} act
 */
export function afterLastKey(act) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, WAIT_MS);
  };
}
