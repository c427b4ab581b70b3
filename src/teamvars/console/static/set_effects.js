/** What a change of a variable set would do to workspaces: asked of the service, and shown before it is done. */

import { send } from "./api.js";
import { ask } from "./dialogs.js";
import { count, h, listed, name } from "./dom.js";

/**
 * What an update of a set would do, or, without a document, its deletion.
 * @param {string} id of the set
 * @param {any} data
 * @param {AbortSignal} signal
 */
export async function effectsOf(id, data, signal) {
  const document = data ? { data: { type: "varsets", id, ...data } } : undefined;
  const answer = await send("POST", `/varsets/${id}/actions/preview`, document, { repeats: true, signal });
  return answer.document.data.attributes;
}

/** Whether somebody who has read what a change does still wants it; where it does nothing to workspaces they are not asked. */
export async function agreed(title, effects, yes, { kind = "primary" } = {}) {
  const { gaining, changing, losing } = effects;
  if (!gaining && !changing && !losing) return true;
  return ask(title, summaryOf(effects), yes, { kind, more: workspacesOf(effects) });
}

/** In a sentence: how many workspaces get what. */
export function summaryOf({ gaining, changing, losing }) {
  const get = (number) => `${count(number, "workspace")} ${number === 1 ? "gets" : "get"}`;
  const parts = [
    gaining && `${get(gaining)} a value that ${gaining === 1 ? "it has" : "they have"} not`,
    changing && `${get(changing)} another value`,
    losing && `${count(losing, "workspace")} ${losing === 1 ? "loses" : "lose"} one`,
  ].filter(Boolean);
  return parts.length ? `${parts.join(", ")}.` : "Nothing changes in any workspace.";
}

/** The first of these workspaces, the keys, and the runners that they are handed to. */
export function workspacesOf({ workspaces }) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What would change" },
    h("ul", { class: "rows", role: "list" }, workspaces.map((one) => h("li", { class: "row" },
      h("span", { class: "name" }, name(one.name)),
      [["gets", one.gains], ["gets another", one.changes], ["loses", one.loses]].filter(([, keys]) => keys.length)
        .map(([verb, keys]) => h("span", { class: "aside" }, `${verb} `, listed(keys.map((key) => h("code", {}, name(key)))))),
      one.runners.length > 0 && h("span", { class: "aside" }, "handed to ", listed(one.runners.map(name)))))));
}
