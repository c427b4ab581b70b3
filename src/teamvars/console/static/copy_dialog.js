/** Copies variables from a workspace of the organization into another one or a set, after a look at what would change. */

import { Refused, read } from "./api.js";
import { Copying, copyForm, held } from "./copying.js";
import { headed, show } from "./dialogs.js";
import { button, count, h } from "./dom.js";
import { choice, errorsOf, field, form, isOvertaken, leaveButton } from "./fields.js";
import { settleAll } from "./hands.js";
import { findReadable, namesOf } from "./named.js";
import { effectsText, itemErrors, nameOf, summaryOf } from "./results.js";

/** @import { Answer } from "./api.js" */
/** @typedef {Api.VariableResult} Result */
/** @typedef {Api.ResultsDocument["meta"]} Meta */

const SOURCE = "/data/relationships/source/data/id";

/**
 * `done(text)` is called once they are copied into the place; whoever owns the organization copies sensitive ones too.
 * @param {string} organization
 * @param {import("./variables_page.js").Place} place
 * @param {(text: string) => unknown} done
 */
export function copyDialog(organization, place, done) {
  show("Copy from another workspace", (close) => new Copy(organization, place, close, done).element, { wide: true });
}

class Copy {
  sourceId = "";
  /** @type {Api.VariableName[]} */
  keys = [];

  /**
   * @param {string} organization
   * @param {import("./variables_page.js").Place} place
   * @param {() => void} close
   * @param {(text: string) => unknown} done
   */
  constructor(organization, { path, variables, owns }, close, done) {
    this.owns = owns;
    this.close = close;
    this.done = done;
    this.target = variables;
    this.copying = new Copying(path);
    this.base = `/organizations/${encodeURIComponent(organization)}`;
    const { input, names } = namesOf(this.base, "workspace", { autofocus: true });
    this.source = input;
    this.conflict = choice({ legend: "What is here already", chosen: "skip",
      options: [{ value: "skip", label: "Leave as it is" }, { value: "replace", label: "Replace" }] });
    this.choosing = form({ onsubmit: (signal) => this.#look("", signal), isMissed: false, saves: false, busy: "Reading …" },
      field({ label: "From workspace", control: this.source, pointer: SOURCE,
        hint: "A workspace of the same organization that you may read." }),
      names, this.conflict.element,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), leaveButton(close)));
    this.preview = h("div", { hidden: true });
    this.element = h("div", {}, this.choosing, this.preview);
  }

  get #said() {
    return { sourceId: this.sourceId, keys: this.keys, conflict: this.conflict.chosen() };
  }

  /**
   * @param {string} note
   * @param {AbortSignal} signal
   */
  async #look(note, signal) {
    ({ id: this.sourceId } = await findReadable(this.base, this.source.value.trim(), SOURCE, signal));
    const left = await this.#read(signal);
    /** @type {Meta} */
    let meta;
    try {
      meta = await this.copying.look(this.#said, signal);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.errors.some((one) => one.source?.pointer === SOURCE)) throw error;
      this.#back();
      const told = itemErrors(error, (at) => this.keys[at]);
      return errorsOf(this.choosing).replaceChildren(h("ul", {}, told));
    }
    this.choosing.hidden = true;
    this.preview.hidden = false;
    const { results, effects } = meta;
    const more = effects ? await effectsText(effects) : null;
    this.preview.replaceChildren(copyForm(results, { notes: [note, left].filter(Boolean), more, close: this.close,
      copy: (waiting) => this.#copy(results, waiting), ways: button("Back", () => this.#back()) }));
    headed(this.preview);
  }

  /**
   * What is copied: each variable as it is here and there, and no other version of it. Owners alone copy what is
   * sensitive: others go without, and are told how much that is.
   * @param {AbortSignal} signal
   */
  async #read(signal) {
    const of = async (/** @type {string} */ path) => {
      /** @type {Answer<Api.VariableListDocument>} */
      const { document } = await read(path, { signal });
      return document.data.map((one) => one.attributes);
    };
    const [originals, here] = await Promise.all([of(`/workspaces/${this.sourceId}/vars`), of(this.target)]);
    const there = new Map(here.map((one) => [nameOf(one), one]));
    const taken = originals.filter((one) => this.owns || !one.sensitive);
    const left = originals.length - taken.length;
    this.keys = taken.map((one) => held(one, there.get(nameOf(one))));
    return left ? `${count(left, "sensitive variable")} ${left === 1 ? "stays" : "stay"} behind: owners alone copy those.` : "";
  }

  #back() {
    this.preview.hidden = true;
    this.choosing.hidden = false;
    settleAll();
    this.source.focus();
  }

  /**
   * @param {Result[]} results
   * @param {AbortSignal} signal
   */
  async #copy(results, signal) {
    try {
      await this.copying.make(this.#said, signal);
    } catch (error) {
      if (!isOvertaken(error, this.element)) throw error;
      return this.#look("Somebody has changed variables meanwhile. This is what would happen now.", signal);
    }
    this.close();
    this.done(`Copied: ${summaryOf(results)}.`);
  }
}
