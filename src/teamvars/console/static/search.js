/** Where a key stands, in all workspaces and variable sets of an organization that one may read. */

import { read } from "./api.js";
import { button, h, icon, name } from "./dom.js";

/** @import { Answer } from "./api.js" */

/**
 * A variable with what is asked for.
 * @typedef {Pick<Api.FoundResource, "relationships"> & {attributes: Required<Api.FoundAttributes>}} Found
 */

const PAGE_SIZE = 50;
const FIELDS = "key,description,category,sensitive,hcl,workspace-name,varset-name,varset";
/** A page may be short and not be the last: so many are asked for before one asks whether to go on. */
const PAGES_AT_ONCE = 5;

/** The variables that have a text in their keys, in any case, page by page. */
export class KeySearch {
  #asked = 0;

  /**
   * @param {string} organization
   * @param {AbortSignal} signal
   */
  constructor(organization, signal) {
    this.organization = organization;
    this.signal = signal;
    this.rows = h("ul", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.element = h("div", { hidden: true }, this.rows, this.more);
  }

  /**
   * Shows them; nothing where `text` is empty.
   * @param {string} text
   */
  async find(text) {
    this.#asked += 1;
    this.element.hidden = !text;
    if (!text) return;
    const query = new URLSearchParams({ q: text, "fields[vars]": FIELDS, "page[size]": String(PAGE_SIZE) });
    await this.#draw(`/organizations/${encodeURIComponent(this.organization)}/vars?${query}`, true);
  }

  /**
   * @param {string} path
   * @param {boolean} isFirst
   */
  async #draw(path, isFirst) {
    const mine = this.#asked;
    /** @type {Found[]} */
    const found = [];
    /** @type {string | null} */
    let next = path;
    for (let page = 0; next && page < PAGES_AT_ONCE && found.length < PAGE_SIZE; page++) {
      /** @type {Answer<{data: Found[], links: Api.CursorLinks}>} */
      const { document } = await read(next, { signal: this.signal });
      if (mine !== this.#asked) return; // something else was typed meanwhile
      found.push(...document.data);
      next = document.links.next;
    }
    if (isFirst) this.rows.replaceChildren();
    this.rows.append(...found.map((one) => this.#row(one)));
    if (!this.rows.children.length) this.rows.append(h("li", { class: "hint" }, "No key that you can see has this in it."));
    const rest = next;
    this.more.replaceChildren(...(rest ? [button("Search on", () => this.#draw(rest, false))] : []));
  }

  /** @param {Found} found */
  #row({ attributes: { key, description, category, sensitive, "workspace-name": workspace, "varset-name": set }, relationships }) {
    const id = relationships?.varset?.data.id;
    const place = id ? `varsets/${id}` : `workspaces/${workspace}`;
    const href = `/app/${this.organization}/${place}?key=${encodeURIComponent(key)}`;
    return h("li", {},
      h("a", { class: "row", href },
        h("span", { class: "name" }, h("span", { class: "code" }, name(key)),
          description && h("span", { class: "description" }, name(description))),
        sensitive && h("span", { class: "write-only" }, icon("lock"), "write-only"),
        h("span", { class: "aside" }, category),
        h("span", { class: "aside" }, id ? "in the set " : "in ", name(workspace || set || ""))));
  }
}
