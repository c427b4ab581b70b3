/** Where a key stands, in all workspaces and variable sets of an organization that one may read. */

import { late, newest, read } from "./api.js";
import { Choosing } from "./choosing.js";
import { announce, button, count, h, icon, name } from "./dom.js";
import { settleNew, stay } from "./hands.js";
import { lacking } from "./paged_list.js";
import { redraw } from "./redraw.js";

/** @import { Answer } from "./api.js" */
/** @import { Picture } from "./dom.js" */
/** @import { Entries } from "./paged_list.js" */
/** @import { Chosen, Kind } from "./several.js" */

/**
 * A variable with what is asked for.
 * @typedef {Pick<Api.FoundResource, "id" | "relationships"> & {attributes: Required<Api.FoundAttributes>}} Found
 */

const PAGE_SIZE = 50;
const FIELDS = "key,description,category,sensitive,hcl,version-id,workspace-name,varset-name,varset,configurable";
/** A page may be short and not be the last: so many are asked for before one asks whether to go on. */
const PAGES_AT_ONCE = 5;

/** The variables that have a text in their keys, in any case, page by page. */
export class KeySearch {
  #asks = newest();
  #isReading = false;
  #text = "";
  #shown = "";
  /** @type {Entries} */
  #entries = [];
  #rest = "";

  /**
   * @param {string} organization
   * @param {AbortSignal} signal
   */
  constructor(organization, signal) {
    this.organization = organization;
    this.signal = signal;
    this.rows = h("ul", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    /** @type {Choosing<Chosen>} */
    this.choosing = new Choosing("variable", this.rows, (chosen) => this.#offer(chosen));
    this.element = h("div", { hidden: true }, this.choosing.bar, this.rows, this.more);
  }

  /**
   * Shows them; nothing where `text` is empty.
   * @param {string} text
   */
  async find(text) {
    this.#asks();
    this.#text = text;
    this.element.hidden = !text;
    if (!text) {
      this.#shown = "";
      return;
    }
    const query = new URLSearchParams({ q: text, "fields[vars]": FIELDS, "page[size]": String(PAGE_SIZE) });
    await this.#draw(`/organizations/${encodeURIComponent(this.organization)}/vars?${query}`, true);
  }

  /**
   * @param {string} path
   * @param {boolean} isFirst
   */
  async #draw(path, isFirst) {
    const isNewest = this.#asks();
    /** @type {Found[]} */
    const found = [];
    /** @type {string | null} */
    let next = path;
    this.#isReading = true;
    try {
      for (let page = 0; next && page < PAGES_AT_ONCE && found.length < PAGE_SIZE; page++) {
        /** @type {Answer<{data: Found[], links: Api.CursorLinks}>} */
        const { document } = await read(next, { signal: this.signal });
        if (!isNewest()) return;
        found.push(...document.data);
        next = document.links.next;
      }
    } catch (error) {
      if (isNewest() && !this.signal.aborted && this.#shown !== this.#text) this.#lack();
      throw error;
    } finally {
      if (isNewest()) this.#isReading = false;
    }
    const fresh = found.map((one) => ({ key: one.id, seen: JSON.stringify(one), make: () => this.#row(one) }));
    this.#entries = isFirst ? fresh : [...this.#entries, ...fresh];
    const text = next ? "None of those looked at so far has this in its key." : "No key that you can see has this in it.";
    const none = { key: "none", seen: text, make: () => h("li", { class: "hint" }, text) };
    redraw(this.rows, this.#entries.length ? this.#entries : [none]);
    this.#rest = next ?? "";
    announce(`${count(this.#entries.length, "variable")} found${next ? " so far" : ""}`);
    const more = { key: "more", seen: true, make: () => button("Search on", () => this.#goOn()) };
    redraw(this.more, this.#rest ? [more] : []);
    if (this.#shown === this.#text) this.choosing.told(!next);
    else this.choosing.keep(new Set());
    this.#shown = this.#text;
  }

  /** What was there was found by another text, and is not shown as if it had this one. */
  #lack() {
    this.#shown = "";
    lacking(this.rows, this.more, () => this.#goOn());
    this.choosing.keep(new Set());
  }

  /** Adds nothing to what is about to be other; where that could not be read, it is asked for once more. */
  async #goOn() {
    if (this.#isReading) return;
    const isShown = this.#shown === this.#text;
    await settleNew(this.rows, () => (isShown ? this.#draw(this.#rest, false) : this.find(this.#text)));
  }

  /**
   * Shows what can be done with what is chosen.
   * @param {Chosen[]} chosen
   */
  #offer(chosen) {
    const readable = chosen.filter(({ sensitive }) => !sensitive).length;
    /** @type {[number, Kind, string, Picture][]} */
    const acts = [[chosen.length, "value", "Set value …", "edit"], [readable, "sensitive", "Make sensitive …", "lock"],
      [chosen.length, "delete", "Delete …", "remove"]];
    redraw(this.choosing.acts, acts.filter(([many]) => many).map(([, kind, text, picture]) =>
      ({ key: kind, seen: true, make: () => button(text, () => this.#act(kind), { picture }) })));
  }

  /** @param {Kind} kind */
  async #act(kind) {
    const isStill = stay();
    const { severalDialog } = await late(() => import("./several.js"));
    const { chosen } = this.choosing;
    if (!this.signal.aborted && isStill()) severalDialog(kind, chosen, this.signal, (left) => this.#again(chosen, left));
  }

  /**
   * Shows what there is now; what did not become so stays chosen, beside what one chooses meanwhile.
   * @param {Chosen[]} chosen
   * @param {Chosen[]} left
   */
  async #again(chosen, left) {
    this.choosing.leave(chosen, left);
    await this.find(this.#text);
  }

  /** @param {Found} found */
  #boxOf({ id, attributes: { key, category, sensitive, "version-id": version, ...said }, relationships }) {
    const { configurable, varset } = relationships ?? {};
    const { type, id: owner } = (varset ?? configurable)?.data ?? {};
    const called = said["workspace-name"] || said["varset-name"];
    if (!owner || !type || !called) return null;
    const chosen = { id, key, category, sensitive, version, owner: { type, id: owner, name: called } };
    return this.choosing.boxOf(chosen, `${key} in ${called}`);
  }

  /** @param {Found} found */
  #row(found) {
    const { attributes, relationships } = found;
    const { key, description, category, sensitive, "workspace-name": workspace, "varset-name": set } = attributes;
    const id = relationships?.varset?.data.id;
    const place = id ? `varsets/${id}` : `workspaces/${workspace}`;
    const href = `/app/${this.organization}/${place}?key=${encodeURIComponent(key)}`;
    return h("li", { class: "choosing" }, this.#boxOf(found),
      h("a", { class: "row", href },
        h("span", { class: "name" }, h("span", { class: "code" }, name(key)),
          description && h("span", { class: "description" }, name(description))),
        sensitive && h("span", { class: "write-only" }, icon("lock"), "write-only"),
        h("span", { class: "aside" }, category),
        h("span", { class: "aside" }, id ? "in the set " : "in ", name(workspace || set || ""))));
  }
}
