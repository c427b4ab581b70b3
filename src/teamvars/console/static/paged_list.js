/** Lists in pages, which are narrowed as one types. */

import { Refused, readPage } from "./api.js";
import { announce, button, count, h, icon } from "./dom.js";

const WAIT_MS = 200;

let made = 0;

/** A list of the API, and how many there are in it. */
export class PagedList {
  #asked = 0;
  #known = new Set();
  #last = 1;

  /**
   * @param {{path: (words: string) => string, row: (one: any, included: any[]) => Element, noun: string,
   *   all?: string, none: string, nothing: () => Element, signal: AbortSignal}} said `path` is of those with these
   *   words; `all` comes after how many there are, `none` is said where none has the words, and `nothing` is
   *   shown where there is none at all
   */
  constructor(said) {
    Object.assign(this, said);
    this.words = "";
    this.lead = h("p", { class: "lead" });
    this.rows = h("ul", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.element = h("div", {}, this.lead, this.rows, this.more);
  }

  /** Shows those with these words, or the same once more; returns how many there are. */
  async draw(words = this.words) {
    const last = words === this.words ? this.#last : 1;
    this.words = words;
    this.#known.clear();
    await this.#read(1, last, (found) => this.rows.replaceChildren(...found));
    if (words) announce(this.lead.textContent);
    return this.total;
  }

  /** The answer to a change of one of them. Where it is refused, what others have done is seen once that is told. */
  async answer(sent) {
    try {
      return await sent;
    } catch (error) {
      if (error instanceof Refused && error.status !== 401) this.draw();
      throw error;
    }
  }

  async #read(first, last, put) {
    const mine = ++this.#asked;
    const rows = [];
    let page = { next: first };
    do {
      page = await readPage(this.path(this.words), page.next, { signal: this.signal });
      if (mine !== this.#asked) return; // something else was asked meanwhile
      const fresh = page.items.filter((one) => !this.#known.has(one.id)); // pages move while one looks
      fresh.forEach((one) => this.#known.add(one.id));
      rows.push(...fresh.map((one) => this.row(one, page.included)));
    } while (page.next && page.next <= last);
    put(rows);
    this.#tell(page, last);
  }

  #tell({ next, total }, last) {
    const { noun, words } = this;
    this.#last = last;
    this.total = total;
    this.lead.textContent = [count(total, noun), words ? "found" : this.all].filter(Boolean).join(" ");
    const more = () => this.#read(next, next, (found) => this.rows.append(...found));
    this.more.replaceChildren(...(next ? [button("Show more", more)] : []));
    const isEmpty = !total && !words;
    this.lead.hidden = this.rows.hidden = isEmpty;
    if (isEmpty) this.more.replaceChildren(this.nothing());
    else if (!total) this.rows.append(h("li", { class: "hint" }, this.none));
  }
}

/** A field that says what is in it, shortly after the last key. */
export function searchField(label, say) {
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: "false",
    autocapitalize: "none", oninput: afterLastKey(() => say(input.value.trim())) });
  return h("div", { class: "search" }, icon("search"), input);
}

/**
 * A field for a name, and the list of names it suggests: those of `pathOf(words)`, or of all where there are no words.
 * Where none come, the name is typed without.
 */
export function suggesting(pathOf, attributes = {}) {
  const names = h("datalist", { id: `names-${++made}` });
  const suggest = async () => {
    const words = input.value.trim();
    const { items } = await readPage(pathOf(words), 1).catch(() => ({ items: [] }));
    if (words !== input.value.trim()) return;
    names.replaceChildren(...items.map((one) => h("option", { value: one.attributes.name })));
  };
  const input = h("input", { list: names.id, spellcheck: "false", autocapitalize: "none", maxlength: 90,
    oninput: afterLastKey(suggest), ...attributes });
  suggest();
  return { input, names };
}

function afterLastKey(act) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, WAIT_MS);
  };
}
