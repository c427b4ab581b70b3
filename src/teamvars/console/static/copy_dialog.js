/** Copies variables from another workspace of the organization, after a look at what would change. */

import { Change, Refused, read, readAll, send } from "./api.js";
import { show } from "./dialogs.js";
import { button, count, h } from "./dom.js";
import { choice, field, form } from "./fields.js";
import { changesOf, itemErrors, resultTable, summaryOf } from "./results.js";

/** `done(text)` is called once they are copied; `owns`: sensitive ones may be copied too. */
export function copyDialog(organization, workspace, owns, done) {
  show("Copy from another workspace",
    (close) => new Copy(organization, workspace, owns, close, done).element, { wide: true });
}

class Copy {
  #change = new Change();

  constructor(organization, workspace, owns, close, done) {
    Object.assign(this, { owns, close, done, path: `/workspaces/${workspace.id}/actions/copy` });
    this.source = h("select", { autofocus: true });
    this.conflict = choice({ legend: "What is here already", chosen: "skip",
      options: [{ value: "skip", label: "Leave as it is" }, { value: "replace", label: "Replace" }] });
    this.choosing = form({ onsubmit: () => this.#look() },
      field({ label: "Workspace", control: this.source, pointer: "/data/relationships/source/data/id" }),
      this.conflict.element,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), button("Cancel", close)));
    this.preview = h("div", { hidden: true });
    this.element = h("div", {}, this.choosing, this.preview);
    this.#fill(organization, workspace.id);
  }

  async #fill(organization, here) {
    const all = await readAll(`/organizations/${encodeURIComponent(organization)}/workspaces`);
    const others = all.filter((one) => one.id !== here);
    this.source.replaceChildren(...others.map(({ id, attributes }) =>
      h("option", { value: id }, `${attributes.name} (${count(attributes["variables-count"], "variable")})`)));
    if (!others.length) this.choosing.replaceChildren(h("p", {}, "There is no other workspace that you may read."),
      h("div", { class: "actions" }, button("Close", this.close)));
  }

  #document(dryRun) {
    const attributes = { "on-conflict": this.conflict.chosen() };
    if (this.keys) attributes.keys = this.keys;
    const source = { data: { type: "workspaces", id: this.source.value } };
    return { data: { type: "copies", attributes, relationships: { source } }, meta: { "dry-run": dryRun } };
  }

  async #look() {
    const note = await this.#leaveBehind();
    let answer;
    try {
      answer = await send("POST", this.path, this.#document(true));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.choosing.querySelector(".errors").replaceChildren(h("ul", {}, itemErrors(error, (at) => this.keys?.[at])));
      return;
    }
    this.choosing.hidden = true;
    this.preview.hidden = false;
    this.preview.replaceChildren(this.#copyForm(answer.document.meta.results, note));
    this.preview.querySelector("button")?.focus();
  }

  /** Owners alone copy what is sensitive: others go without, and are told how much that is. */
  async #leaveBehind() {
    this.keys = null;
    if (this.owns) return "";
    const { document } = await read(`/workspaces/${this.source.value}/vars`);
    const readable = document.data.filter((one) => !one.attributes.sensitive);
    const left = document.data.length - readable.length;
    this.keys = readable.map(({ attributes: { key, category } }) => ({ key, category }));
    return left ? `${count(left, "sensitive variable")} ${left === 1 ? "stays" : "stay"} behind: owners alone copy those.` : "";
  }

  #copyForm(results, note) {
    const many = changesOf(results);
    return form({
      onsubmit: async () => {
        await send("POST", this.path, this.#document(false), { change: this.#change });
        this.close();
        this.done(`${summaryOf(results)}.`);
      },
    },
      note && h("p", { class: "notice" }, note),
      h("p", { class: "lead" }, many ? `${summaryOf(results)}.` : "There is nothing to copy."),
      results.length > 0 && resultTable(results, "What changes", (one) =>
        one.outcome === "updated" ? one.changed.join(", ") : ""),
      h("div", { class: "actions" },
        many > 0 && h("button", { class: "button primary" }, `Copy ${count(many, "variable")}`),
        button("Back", () => {
          this.preview.hidden = true;
          this.choosing.hidden = false;
        }),
        button(many ? "Cancel" : "Close", this.close)));
  }
}
