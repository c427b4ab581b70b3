/** The page of what has variables: a workspace, or a variable set. */

import { Refused, categories, late, newest, orTold, read } from "./api.js";
import { Deletions } from "./deletions.js";
import { addButton, announce, button, count, h, icon, name, within } from "./dom.js";
import { watchDrops } from "./drops.js";
import { FormPlace, choice } from "./fields.js";
import { stay } from "./hands.js";
import { notify, whenBack } from "./notices.js";
import { redraw } from "./redraw.js";
import { readOnly, variableForm } from "./variable_form.js";
import { VariableList, variableOf } from "./variable_list.js";
import { VariableTable } from "./variable_table.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { DroppedFile } from "./drops.js" */
/** @import { Held } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @import { Contents } from "./variable_form.js" */
/** @import { Resource, Variable } from "./variable_list.js" */

/**
 * What an apply would be told of a variable.
 * @typedef {{type: "vars", attributes: Partial<Contents> & Pick<Contents, "key" | "category">, meta?: {delete: true}}} ItemSaid
 */

/**
 * What has variables. Paths are below `/api/v2`.
 * @typedef {object} Place
 * @property {HTMLElement} head of its pages
 * @property {string} path where it is
 * @property {string} variables where they are
 * @property {boolean} may whether one changes them
 * @property {boolean} owns whether one owns the organization
 * @property {(variable: Variable) => [string, string][]} ways texts and addresses of pages that tell more of a variable
 * @property {((variable: Variable) => Promise<Child>) | null} handed what a form tells of a variable once it is known
 * @property {((list: VariableList) => string | null) | null} warns what is said above them, where they are to be minded
 * @property {import("./inherited.js").Inherited | null} inherited what comes from elsewhere
 * @property {((items: ItemSaid[], title: Child, yes: string, held: Held) => Promise<boolean>) | null} agrees
 *   whether somebody who has read what an apply of these does elsewhere still wants it
 */

/**
 * The page, once the variables are known; in their place, what is damaged.
 * @param {Context} context
 * @param {Place} place
 */
export async function variablesPage(context, place) {
  const { signal } = context;
  try {
    /** @type {[Listed, string[], import("./inherited.js").Found | null | undefined]} */
    const [listed, words, inherited] = await Promise.all([
      read(place.variables, { signal }), categories({ signal }), place.inherited?.read()]);
    return new VariablesPage(context, place, words, listed, inherited).element;
  } catch (error) {
    if (!(error instanceof Refused && error.has("damaged_value"))) throw error;
    const again = () => context.go(location.pathname + location.search, { replace: true });
    const { damagedValues } = await late(() => import("./damaged_values.js"));
    return h("section", {}, place.head, damagedValues(place.variables, error.errors, place.may, again));
  }
}

/** @typedef {Answer<Api.VariableListDocument>} Listed */

class VariablesPage {
  #changes = 0;
  #asks = newest();

  /**
   * How many there are of each category.
   * @type {Map<string, Element>}
   */
  numbers = new Map();

  /**
   * @param {Context} context
   * @param {Place} place
   * @param {string[]} words what the categories are called
   * @param {Listed} listed
   * @param {import("./inherited.js").Found | null | undefined} inherited
   */
  constructor(context, place, words, listed, inherited) {
    this.signal = context.signal;
    this.organization = context.organization;
    this.place = place;
    this.categories = words;
    this.list = new VariableList(listed.document.data);
    if (inherited) this.list.inherit(inherited);
    this.etag = listed.etag;
    this.table = new VariableTable({ may: place.may, sort: (order) => this.#sort(order),
      open: (id) => this.#open(id), remove: (id) => this.#remove(id) }, context.signal);
    this.deletions = new Deletions(place.variables, {
      goes: (...said) => this.table.goes(...said), stays: (id) => this.table.stays(id), gone: (id) => this.#gone(id),
      changed: () => this.#refresh(),
    }, context.signal);
    this.form = new FormPlace();
    this.nothing = h("div", {});
    this.warning = h("div", {});
    this.summary = h("p", { class: "hint found", role: "status" });
    this.tabs = this.#tabsOf(words);
    this.filter = h("input", { type: "search", "aria-label": "Filter variables", placeholder: "Filter",
      value: context.query.get("key") ?? "", spellcheck: "false", oninput: () => this.#draw() });
    this.element = h("section", {},
      place.head, this.#toolbar(), this.warning, this.form.element, this.summary, this.table.element, this.nothing);
    if (place.may) watchDrops(this.element, context.signal, (file) => this.#import(file));
    whenBack(() => this.#refresh(), context.signal);
    this.#draw();
  }

  #toolbar() {
    const changes = this.place.may && [button("Import", () => this.#import(), { picture: "file" }),
      button("Copy from …", () => this.#copy(), { picture: "copy" })];
    const acts = h("div", { class: "actions" }, changes, button("Export", () => this.#export(), { picture: "out" }),
      this.place.may && addButton("Add variable", () => this.#add()));
    return h("div", { class: "toolbar" },
      h("div", { class: "search" }, icon("search"), this.filter),
      h("div", { class: "tabs-place" }, this.tabs.element), acts);
  }

  #draw() {
    const { list } = this;
    list.lookFor(this.filter.value, this.tabs.chosen());
    const found = list.found;
    const rows = list.shown(found);
    this.table.draw(rows, list); // it looks where it is, which costs something once anything is changed
    for (const one of ["", ...this.categories]) {
      const many = found.filter(({ category }) => !one || category === one).length;
      this.numbers.get(one)?.replaceChildren(many.toLocaleString("en"));
    }
    this.table.element.hidden = !list.size;
    this.summary.textContent = list.words.length ? `${count(rows.length, "variable")} found` : "";
    const isAdding = this.form.element.querySelector("form") !== null;
    const empty = { key: "empty", seen: list.size > 0, make: () => this.#empty() };
    redraw(this.nothing, rows.length || (isAdding && !list.size) ? [] : [empty]);
    const warning = this.place.warns?.(list);
    redraw(this.warning, warning ? [{ key: warning, seen: true, make: () => caution(warning) }] : []);
  }

  /** @param {string[]} words */
  #tabsOf(words) {
    const options = ["", ...words].map((one) => ({ value: one, label: [one || "All", this.#numberOf(one)] }));
    return choice({ legend: "Category", quiet: true, options, chosen: "", onchange: () => this.#draw() });
  }

  /** @param {string} category */
  #numberOf(category) {
    const number = h("span", { class: "number" });
    this.numbers.set(category, number);
    return number;
  }

  #empty() {
    if (this.list.size) {
      return h("div", { class: "empty" }, h("h2", {}, "Nothing has all of these words"),
        h("p", {}, "The filter searches keys, descriptions and readable values."),
        button("Show all", () => {
          this.filter.value = "";
          this.tabs.of("").checked = true;
          this.filter.focus();
          this.#draw();
        }));
    }
    return h("div", { class: "empty" }, h("h2", {}, "No variables yet"),
      this.place.may
        ? h("p", {}, "Add the first one, drop a .env or .tfvars file here, or copy them from another workspace.")
        : h("p", {}, "People who may write here can add some. You may read them."));
  }

  /** @param {import("./variable_list.js").Order} order */
  #sort(order) {
    this.list.sortBy(order);
    this.#draw();
  }

  /**
   * @param {Variable | null} variable
   * @param {Pick<import("./variable_form.js").Said, "done" | "theirs" | "gone" | "cancel">} more
   */
  #formOf(variable, more) {
    return variableForm({ place: this.place, categories: this.categories, variable, ...more });
  }

  #add() {
    this.form.open((end) => h("div", { class: "card" }, h("h2", {}, "A new variable"), this.#formOf(null, {
      done: (resource) => {
        end();
        this.#took(resource);
        this.#draw();
        this.table.focus(resource.id);
        notify("told", `${resource.attributes.key} is added.`);
      },
      cancel: () => {
        end();
        this.#draw();
      },
    })));
    this.#draw();
  }

  /** @param {string} id */
  #open(id) {
    const variable = this.list.get(id);
    if (!variable) return;
    const close = () => this.table.close(id, this.list.get(id), element);
    /** @type {HTMLElement} */
    const element = this.place.may
      ? this.#formOf(variable, {
          cancel: close,
          theirs: (resource) => {
            this.#took(resource);
            close();
          },
          done: (resource) => {
            this.#took(resource);
            close();
            this.table.mark(variableOf(resource), "saved");
            announce(`${resource.attributes.key} is saved.`);
          },
          gone: () => {
            this.list.drop(id);
            close();
            this.#draw();
          },
        })
      : readOnly(variable, close);
    this.table.open(variable, element);
    const [first = element] = within(element, "textarea, .replace button");
    first.focus();
    element.scrollIntoView({ block: "nearest" });
  }

  /**
   * A variable that was made or changed is shown, whatever is looked for.
   * @param {Resource} resource
   */
  #took(resource) {
    this.#changes += 1;
    this.list.put(resource);
    this.list.pin(resource.id);
    this.#inherit();
  }

  /** @param {string} id */
  async #remove(id) {
    const variable = this.list.get(id);
    const { agrees } = this.place;
    if (variable && agrees) {
      const isStill = stay();
      const { key, category } = variable;
      /** @type {Held} */
      const held = async (work) => {
        const found = await work(this.signal);
        if (!isStill()) throw new DOMException("Left", "AbortError"); // no question opens over whoever types elsewhere by then
        return found;
      };
      /** @type {ItemSaid} */
      const item = { type: "vars", attributes: { key, category }, meta: { delete: true } };
      if (!(await agrees([item], ["Delete ", name(key), "?"], "Delete", held))) return;
    }
    const isThere = this.list.get(id);
    if (isThere) this.deletions.add(isThere);
  }

  /** @param {string} id */
  #gone(id) {
    this.#changes += 1;
    this.list.drop(id);
    this.table.stays(id);
    this.#draw();
    this.#inherit();
  }

  /** What comes from elsewhere, and what of these does not count, may be others after each change. */
  async #inherit() {
    const found = await this.place.inherited?.read();
    if (!found) return;
    this.list.inherit(found);
    this.#draw();
  }

  /** @param {DroppedFile | null} [file] */
  async #import(file = null) {
    const isStill = stay();
    const { importDialog } = await late(() => import("./import_dialog.js"));
    if (this.signal.aborted || !isStill()) return;
    importDialog(this.place.path, this.list, file, () => this.#refresh(), (text) => this.#reload(text));
  }

  /** What counts of what is shown. */
  async #export() {
    const isStill = stay();
    const { exportDialog } = await late(() => import("./export_dialog.js"));
    const called = this.place.head.querySelector("h1")?.textContent ?? "";
    const { list } = this;
    if (!this.signal.aborted && isStill()) exportDialog(called, list.shown(list.found).filter(({ beaten }) => !beaten));
  }

  async #copy() {
    const isStill = stay();
    const { copyDialog } = await late(() => import("./copy_dialog.js"));
    if (!this.signal.aborted && isStill()) copyDialog(this.organization, this.place, (text) => this.#reload(text));
  }

  /** @param {string} text */
  async #reload(text) {
    notify("told", text);
    await this.#refresh();
  }

  /** What others have changed shows once one comes back to the page, or the server is back; what one edits stays. */
  async #refresh() {
    await orTold("What others have changed", () => this.#read());
  }

  /** @returns {Promise<void>} */
  async #read() {
    const [changes, isNewest] = [this.#changes, this.#asks()];
    /** @type {Answer<Api.VariableListDocument | null>} */
    const { document: found, etag } = await read(this.place.variables, { ifNoneMatch: this.etag, signal: this.signal });
    if (!isNewest()) return;
    if (changes !== this.#changes) return this.#read(); // it may be older than what was saved meanwhile
    if (found) {
      this.etag = etag;
      this.list.replace(found.data);
      this.#draw();
    }
    await this.#inherit();
  }
}

/** @param {string} text */
function caution(text) {
  return h("p", { class: "notice caution" }, icon("warning"), h("span", {}, text));
}
