/** The page of a workspace: its variables. */

import { Refused, Unreachable, categories, read } from "./api.js";
import { Deletions } from "./deletions.js";
import { addButton, announce, button, count, h, icon } from "./dom.js";
import { watchDrops } from "./drops.js";
import { FormPlace, choice } from "./fields.js";
import { stay } from "./hands.js";
import { readWorkspace, workspaceHead } from "./heads.js";
import { notify } from "./notices.js";
import { redraw } from "./redraw.js";
import { readOnly } from "./value_field.js";
import { variableForm } from "./variable_form.js";
import { VariableList } from "./variable_list.js";
import { VariableTable } from "./variable_table.js";

export async function variablesPage(context) {
  const { signal } = context;
  const { found, owns } = await readWorkspace(context);
  const variables = `/workspaces/${found.id}/vars`;
  try {
    const [listed, words] = await Promise.all([read(variables, { signal }), categories({ signal })]);
    return new VariablesPage(context, found, owns, words, listed).element;
  } catch (error) {
    if (!(error instanceof Refused && error.has("damaged_value"))) throw error;
    const again = () => context.go(location.pathname + location.search, { replace: true });
    const may = found.attributes.permissions["can-update-variable"];
    const { damagedValues } = await import("./damaged_values.js");
    return h("section", {}, workspaceHead(context, found, "variables"),
      damagedValues(variables, error.errors, may, again));
  }
}

class VariablesPage {
  constructor(context, workspace, owns, words, listed) {
    this.signal = context.signal;
    this.workspace = workspace;
    this.owns = owns;
    this.categories = words;
    this.organization = context.organization;
    this.path = `/app/${context.organization}/workspaces/${workspace.attributes.name}`;
    this.variables = `/workspaces/${workspace.id}/vars`;
    this.list = new VariableList(listed.document.data);
    this.etag = listed.etag;
    this.may = workspace.attributes.permissions["can-update-variable"];
    this.table = new VariableTable({ may: this.may, sort: (order) => this.#sort(order),
      open: (id) => this.#open(id), remove: (id) => this.deletions.add(this.list.get(id)) }, context.signal);
    this.deletions = new Deletions(this.variables, {
      goes: (...said) => this.table.goes(...said), stays: (id) => this.table.stays(id), gone: (id) => this.#gone(id),
    }, context.signal);
    this.place = new FormPlace();
    this.nothing = h("div", {});
    this.summary = h("p", { class: "hint found", role: "status" });
    this.tabs = this.#tabsOf(words);
    this.filter = h("input", { type: "search", "aria-label": "Filter variables", placeholder: "Filter",
      value: context.query.get("key") ?? "", spellcheck: "false", oninput: () => this.#draw() });
    this.element = h("section", {},
      workspaceHead(context, workspace, "variables"),
      this.#toolbar(), this.place.element, this.summary, this.table.element, this.nothing);
    if (this.may) watchDrops(this.element, context.signal, (file) => this.#import(file));
    document.addEventListener("visibilitychange", () => this.#refresh(), { signal: context.signal });
    this.#draw();
  }

  #toolbar() {
    const acts = this.may && h("div", { class: "actions" },
      button("Import", () => this.#import(), { picture: "file" }),
      button("Copy from …", () => this.#copy(), { picture: "copy" }),
      addButton("Add variable", () => this.#add()));
    return h("div", { class: "toolbar" },
      h("div", { class: "search" }, icon("search"), this.filter),
      h("div", { class: "tabs-place" }, this.tabs.element), acts);
  }

  #draw() {
    const { list } = this;
    list.lookFor(this.filter.value, this.tabs.chosen());
    const found = list.found;
    const rows = list.shown(found);
    for (const one of ["", ...this.categories]) {
      const many = found.filter(({ category }) => !one || category === one).length;
      this.tabs.of(one).parentElement.querySelector(".number").textContent = many.toLocaleString("en");
    }
    this.table.draw(rows, list);
    this.table.element.hidden = !list.size;
    this.summary.textContent = list.words.length ? `${count(rows.length, "variable")} found` : "";
    const isAdding = this.place.element.querySelector("form") !== null;
    const empty = { key: "empty", seen: list.size > 0, make: () => this.#empty() };
    redraw(this.nothing, rows.length || (isAdding && !list.size) ? [] : [empty]);
  }

  #tabsOf(words) {
    const options = ["", ...words].map((one) => ({ value: one, label: [one || "All", h("span", { class: "number" })] }));
    return choice({ legend: "Category", quiet: true, options, chosen: "", onchange: () => this.#draw() });
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
      this.may
        ? h("p", {}, "Add the first one, drop a .env or .tfvars file here, or copy them from another workspace.")
        : h("p", {}, "People who may write here can add some. You may read them."));
  }

  #sort(order) {
    this.list.sortBy(order);
    this.#draw();
  }

  #formOf(variable, more) {
    const history = variable && `${this.path}/activity?key=${encodeURIComponent(variable.key)}`;
    const access = `${this.path}/access`;
    return variableForm({ workspaceId: this.workspace.id, categories: this.categories, variable, history, access, ...more });
  }

  #add() {
    this.place.open((end) => h("div", { class: "card" }, h("h2", {}, "A new variable"), this.#formOf(null, {
      done: (resource) => {
        end();
        this.list.put(resource);
        this.list.pin(resource.id);
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

  #open(id) {
    const variable = this.list.get(id);
    const close = () => this.table.close(id, this.list.get(id));
    const element = this.may
      ? this.#formOf(variable, {
          cancel: close,
          done: (resource) => {
            this.list.put(resource);
            this.list.pin(id);
            close();
            this.table.mark(this.list.get(id), "saved");
            announce(`${resource.attributes.key} is saved.`);
          },
          gone: () => {
            this.list.drop(id);
            close();
            this.#draw();
          },
        })
      : readOnly(variable, close);
    this.table.open(id, element);
    (element.querySelector("textarea, .replace button") ?? element).focus();
    element.scrollIntoView({ block: "nearest" });
  }

  #gone(id) {
    this.list.drop(id);
    this.table.stays(id);
    this.#draw();
  }

  async #import(file) {
    const isStill = stay();
    const { importDialog } = await import("./import_dialog.js");
    if (!this.signal.aborted && isStill()) importDialog(this.workspace.id, this.list, file, (text) => this.#reload(text));
  }

  async #copy() {
    const isStill = stay();
    const { copyDialog } = await import("./copy_dialog.js");
    if (!this.signal.aborted && isStill()) copyDialog(this.organization, this.workspace, this.owns, (text) => this.#reload(text));
  }

  async #reload(text) {
    notify("told", text);
    await this.#refresh();
  }

  /** What others have changed shows once one comes back to the page; what one edits stays. */
  async #refresh() {
    if (document.hidden) return;
    try {
      const { document: found, etag } = await read(this.variables, { ifNoneMatch: this.etag, signal: this.signal });
      if (!found) return;
      this.etag = etag;
      this.list.replace(found.data);
      this.#draw();
    } catch (error) {
      if (error instanceof Unreachable) return; // the page says so
      if (error instanceof Refused) error.message = `What others have changed is not shown. ${error.message}`;
      throw error;
    }
  }
}
