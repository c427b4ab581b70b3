/** A copy of variables, looked at before it is made: each as it is here and there, and no other version of it. */

import { Change, send } from "./api.js";
import { count, h } from "./dom.js";
import { form, leaveButton } from "./fields.js";
import { changesOf, resultTable, summaryOf } from "./results.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @typedef {Api.VariableResult} Result */

/**
 * What is copied: from the workspace of that id, at the versions that `keys` say.
 * @typedef {{sourceId: string, keys: Api.VariableName[], conflict: "skip" | "replace"}} Said
 */

/**
 * What is called so there, at its version, and at that of what is called so where it comes to.
 * @param {{key: string, category: Api.VariableName["category"], "version-id": string}} original
 * @param {{"version-id": string} | undefined} here
 * @returns {Api.VariableName}
 */
export function held({ key, category, "version-id": version }, here) {
  return { key, category, "version-id": version, "target-version-id": here?.["version-id"] ?? null };
}

/** One of those, into what is at a path. */
export class Copying {
  #change = new Change();

  /** @param {string} target */
  constructor(target) {
    this.path = `${target}/actions/copy`;
  }

  /**
   * What it would do.
   * @param {Said} said
   * @param {AbortSignal} signal
   */
  async look(said, signal) {
    /** @type {Answer<Api.ResultsDocument>} */
    const { document } = await send("POST", this.path, documentOf(said, true), { repeats: true, signal });
    return document.meta;
  }

  /**
   * Makes it, once.
   * @param {Said} said
   * @param {AbortSignal} signal
   */
  async make(said, signal) {
    await send("POST", this.path, documentOf(said, false), { change: this.#change, signal });
  }
}

/**
 * @param {Said} said
 * @param {boolean} dryRun
 */
function documentOf({ sourceId, keys, conflict }, dryRun) {
  const source = { data: { type: "workspaces", id: sourceId } };
  return { data: { type: "copies", attributes: { "on-conflict": conflict, keys }, relationships: { source } },
    meta: { "dry-run": dryRun } };
}

/**
 * What it would do, to be agreed to.
 * @param {Result[]} results
 * @param {{notes?: string[], more?: Child, copy: (signal: AbortSignal) => unknown, ways?: Child, close: () => void}} said
 */
export function copyForm(results, { notes = [], more, copy, ways, close }) {
  const many = changesOf(results);
  return form({ onsubmit: copy, isMissed: false, busy: "Copying …" },
    notes.map((note) => h("p", { class: "notice" }, note)),
    h("p", { class: "lead" }, many ? `${summaryOf(results)}.` : "There is nothing to copy."),
    more, results.length > 0 && resultTable(results, "What changes", (one) =>
      one.outcome === "updated" ? one.changed.join(", ") : ""),
    h("div", { class: "actions" },
      many > 0 && h("button", { class: "button primary" }, `Copy ${count(many, "variable")}`),
      ways, leaveButton(close, many ? "Cancel" : "Close")));
}
