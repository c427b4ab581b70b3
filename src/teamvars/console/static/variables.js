/** The page of a workspace: its variables. */

import { Refused, categories, read } from "./api.js";
import { copyDialog } from "./copy_dialog.js";
import { deleteDialog } from "./delete_dialog.js";
import { announce, button, count, h, icon } from "./dom.js";
import { FormPlace, choice } from "./fields.js";
import { readWorkspace, workspaceHead } from "./heads.js";
import { importDialog, watchDrops } from "./import_dialog.js";
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
    this.workspace = workspace;
    this.owns = owns;
    this.categories = words;
    this.organization = context.organization;
    this.path = `/app/${context.organization}/workspaces/${workspace.attributes.name}`;
    this.list = new VariableList(listed.document.data);
    this.etag = listed.etag;
    this.may = workspace.attributes.permissions["can-update-variable"];
    this.table = new VariableTable({ may: this.may, sort: (order) => this.#sort(order),
      open: (id) => this.#open(id), remove: (id) => this.#remove(id) });
    this.place = new FormPlace();
    this.nothing = h("div", {});
    this.summary = h("p", { class: "hint found", role: "status" });
    this.tabs = h("div", { class: "tabs-place" });
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
      button("Add variable", () => this.#add(), { kind: "primary", picture: "add" }));
    return h("div", { class: "toolbar" },
      h("div", { class: "search" }, icon("search"), this.filter), this.tabs, acts);
  }

  #draw() {
    const { list } = this;
    list.look(this.filter.value);
    const found = list.found;
    const rows = list.shown(found);
    this.#drawTabs(found);
    this.table.draw(rows, list);
    this.table.element.hidden = !list.size;
    this.summary.textContent = list.words.length ? `${count(rows.length, "variable")} found` : "";
    this.nothing.replaceChildren(...(rows.length ? [] : [this.#empty()]));
  }

  #drawTabs(found) {
    const many = (category) => found.filter((one) => !category || one.category === category).length;
    const options = ["", ...this.categories].map((one) => ({ value: one,
      label: [one || "All", h("span", { class: "number" }, many(one).toLocaleString("en"))] }));
    if (this.tabs.contains(document.activeElement)) { // the same buttons, so that the focus stays
      this.tabs.querySelectorAll(".number").forEach((place, at) => {
        place.textContent = many(options[at].value).toLocaleString("en");
      });
      return;
    }
    this.tabs.replaceChildren(choice({ legend: "Category", quiet: true, options, chosen: this.list.category,
      onchange: (category) => {
        this.list.category = category;
        this.#draw();
      } }).element);
  }

  #empty() {
    if (this.list.size) {
      return h("div", { class: "empty" }, h("h2", {}, "Nothing has all of these words"),
        h("p", {}, "The filter searches keys, descriptions and readable values."),
        button("Show all", () => {
          this.filter.value = "";
          this.list.category = "";
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
    return variableForm({ workspaceId: this.workspace.id, categories: this.categories, variable, history, ...more });
  }

  #add() {
    this.nothing.replaceChildren();
    this.place.open((end) => h("div", { class: "card" }, h("h2", {}, "A new variable"), this.#formOf(null, {
      done: (resource) => {
        end();
        this.list.put(resource);
        this.#draw();
        this.table.focus(resource.id);
        announce(`${resource.attributes.key} is added.`);
      },
      cancel: () => {
        this.#draw();
        end();
      },
    })));
  }

  #open(id) {
    const variable = this.list.get(id);
    const close = () => this.table.close(id, this.list.get(id));
    const element = this.may
      ? this.#formOf(variable, {
          cancel: close,
          done: (resource) => {
            this.list.put(resource);
            close();
            this.table.mark(id, "saved");
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
    (element.querySelector("textarea, .replace button") ?? element).focus();
    element.scrollIntoView({ block: "nearest" });
  }

  #remove(id) {
    const variable = this.list.get(id);
    deleteDialog({
      title: "Delete this variable?", text: "Its value is deleted for ever: ", what: "key", word: variable.key,
      path: `/workspaces/${this.workspace.id}/vars/${id}`, ifMatch: `"${variable.version}"`,
    }, () => {
      this.list.drop(id);
      this.#draw();
      this.filter.focus();
      announce(`${variable.key} is deleted.`);
    });
  }

  #import(file) {
    importDialog(this.workspace.id, this.list, file, (text) => this.#reload(text));
  }

  #copy() {
    copyDialog(this.organization, this.workspace, this.owns, (text) => this.#reload(text));
  }

  async #reload(text) {
    announce(text);
    await this.#refresh();
  }

  /** What others have changed shows once one comes back to the page; what one edits stays. */
  async #refresh() {
    if (document.hidden) return;
    const path = `/workspaces/${this.workspace.id}/vars`;
    const { document: found, etag } = await read(path, { ifNoneMatch: this.etag });
    if (!found) return;
    this.etag = etag;
    this.list.replace(found.data);
    this.#draw();
  }
}
