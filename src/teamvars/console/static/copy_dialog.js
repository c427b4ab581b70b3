/** Copies variables from another workspace of the organization, after a look at what would change. */

import { Change, Refused, read, send } from "./api.js";
import { show } from "./dialogs.js";
import { button, count, h } from "./dom.js";
import { choice, field, form } from "./fields.js";
import { suggesting } from "./paged_list.js";
import { changesOf, itemErrors, resultTable, summaryOf } from "./results.js";

const SOURCE = "/data/relationships/source/data/id";

/** `done(text)` is called once they are copied; `owns`: sensitive ones may be copied too. */
export function copyDialog(organization, workspace, owns, done) {
  show("Copy from another workspace",
    (close) => new Copy(organization, workspace, owns, close, done).element, { wide: true });
}

class Copy {
  #change = new Change();

  constructor(organization, workspace, owns, close, done) {
    Object.assign(this, { owns, close, done, path: `/workspaces/${workspace.id}/actions/copy` });
    this.list = `/organizations/${encodeURIComponent(organization)}/workspaces`;
    const { input, names } = suggesting((words) =>
      this.list + (words && `?search[name]=${encodeURIComponent(words)}`), { autofocus: true });
    this.source = input;
    this.conflict = choice({ legend: "What is here already", chosen: "skip",
      options: [{ value: "skip", label: "Leave as it is" }, { value: "replace", label: "Replace" }] });
    this.choosing = form({ onsubmit: () => this.#look(), isMissed: false },
      field({ label: "From workspace", control: this.source, pointer: SOURCE,
        hint: "A workspace of the same organization that you may read." }),
      names, this.conflict.element,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), button("Cancel", close)));
    this.preview = h("div", { hidden: true });
    this.element = h("div", {}, this.choosing, this.preview);
  }

  /** The id of the workspace of that name. Refuses one that there is not, at its field. */
  async #find() {
    try {
      const { document } = await read(`${this.list}/${encodeURIComponent(this.source.value.trim())}`);
      return document.data.id;
    } catch (error) {
      if (!(error instanceof Refused && [404, 405].includes(error.status))) throw error;
      const detail = "There is no workspace of this name that you may read.";
      throw new Refused(404, [{ detail, source: { pointer: SOURCE } }]);
    }
  }

  #document(dryRun) {
    const attributes = { "on-conflict": this.conflict.chosen() };
    if (this.keys) attributes.keys = this.keys;
    const source = { data: { type: "workspaces", id: this.sourceId } };
    return { data: { type: "copies", attributes, relationships: { source } }, meta: { "dry-run": dryRun } };
  }

  async #look() {
    this.sourceId = await this.#find();
    const note = await this.#leaveBehind();
    let answer;
    try {
      answer = await send("POST", this.path, this.#document(true), { repeats: true });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.errors.some((one) => one.source?.pointer === SOURCE)) throw error;
      const told = itemErrors(error, (at) => this.keys?.[at]);
      return this.choosing.querySelector(".errors").replaceChildren(h("ul", {}, told));
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
    const { document } = await read(`/workspaces/${this.sourceId}/vars`);
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
