/** What a change of a variable set would do to workspaces: asked of the service, and shown before it is done. */

import { send } from "./api.js";
import { ask } from "./dialogs.js";
import { count, h, listed, name, scrolling } from "./dom.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @typedef {Api.EffectsOnWorkspaces} Effects */

/** So many workspaces are told by name at most. */
const MOST_NAMED = 100;

/**
 * What an update of a set would do, or, without a document, its deletion.
 * @param {string} id of the set
 * @param {{attributes?: object, relationships?: object} | null} data
 * @param {AbortSignal} signal
 */
export async function effectsOf(id, data, signal) {
  const document = data ? { data: { type: "varsets", id, ...data } } : undefined;
  /** @type {Answer<Api.VariableSetEffectsDocument>} */
  const answer = await send("POST", `/varsets/${id}/actions/preview`, document, { repeats: true, signal });
  return answer.document.data.attributes;
}

/**
 * What it would do to attach a set to these, or to these no more.
 * @param {"POST" | "DELETE"} method
 * @param {string} path of what it is attached to
 * @param {{type: string, id: string}[]} data
 * @param {AbortSignal} signal
 */
export async function effectsOfAttaching(method, path, data, signal) {
  const document = { data, meta: { "dry-run": true } };
  /** @type {Answer<Api.VariableSetEffectsDocument>} */
  const answer = await send(method, path, document, { repeats: true, signal });
  return answer.document.data.attributes;
}

/**
 * What an apply of these to the variables of a set would do.
 * @param {string} id
 * @param {import("./variables_page.js").ItemSaid[]} items
 * @param {AbortSignal} signal
 * @returns {Promise<Effects>}
 */
export async function effectsOfItems(id, items, signal) {
  const document = { data: items, meta: { "dry-run": true, versioned: true } };
  /** @type {Answer<Api.ResultsDocument & {meta: {effects: Effects}}>} */
  const answer = await send("POST", `/varsets/${id}/actions/apply`, document, { repeats: true, signal });
  return answer.document.meta.effects;
}

/**
 * Whether somebody who has read what a change does still wants it; where it does nothing to workspaces they are not asked.
 * @param {Child} title
 * @param {Effects} effects
 * @param {string} yes
 * @param {{kind?: string}} [how]
 */
export async function agreed(title, effects, yes, { kind = "primary" } = {}) {
  const { gaining, changing, losing } = effects;
  if (!gaining && !changing && !losing) return true;
  return ask(title, summaryOf(effects), yes, { kind, more: workspacesOf(effects) });
}

/**
 * In a sentence: how many workspaces get what.
 * @param {Effects} effects
 */
export function summaryOf({ gaining, changing, losing }) {
  const those = (/** @type {number} */ number, /** @type {string} */ act) =>
    `${count(number, "workspace")} ${act}${number === 1 ? "s" : ""}`;
  const parts = [
    gaining && `${those(gaining, "gain")} a value`,
    changing && `${those(changing, "get")} another value`,
    losing && `${those(losing, "lose")} a value`,
  ].filter(Boolean);
  return parts.length ? `${parts.join(", ")}.` : "Nothing changes in any workspace.";
}

/**
 * The first of these workspaces, the keys, and the runners that they are handed to.
 * @param {Effects} effects
 */
export function workspacesOf({ workspaces }) {
  if (!workspaces.length) return null;
  return [
    workspaces.length === MOST_NAMED && h("p", { class: "hint" }, `The first ${MOST_NAMED} by name:`),
    scrolling("What would change", h("ul", { class: "rows", role: "list" }, workspaces.map(row))),
  ];
}

/** @param {Api.EffectOnWorkspace} effect */
function row({ name: called, gains, changes, loses, runners }) {
  /** @type {[string, string[]][]} */
  const all = [["gets", gains], ["gets another", changes], ["loses", loses]];
  const said = all.filter(([, keys]) => keys.length);
  return h("li", { class: "row" }, h("span", { class: "name" }, name(called)),
    said.map(([verb, keys]) => h("span", { class: "aside" }, `${verb} `, listed(keys.map((key) => h("code", {}, name(key)))))),
    runners.length > 0 && h("span", { class: "aside" }, "handed to ", listed(runners.map(name))));
}
