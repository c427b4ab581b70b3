/** What has changed in a workspace: who, when, which attributes, and with which token. */

import { read } from "./api.js";
import { button, h, name, time } from "./dom.js";
import { field, form, keepTyped } from "./fields.js";
import { workspaceHead } from "./workspace_head.js";

const PAGE_SIZE = 50;
const KINDS = { user: "", team: "the team ", organization: "the organization ", operator: "an operator" };

export async function activityPage(context) {
  const { organization, workspace, signal, query, go } = context;
  const path = `/organizations/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`;
  const found = (await read(path, { signal })).document.data;
  const key = query.get("key") ?? "";
  const events = new Events(`/workspaces/${found.id}/audit-events`, key, context);
  await events.draw(1);
  return h("section", {}, workspaceHead(context, found, "activity"), ofKey(key, go), events.element);
}

/** A field for the key whose changes one wants to see. */
function ofKey(key, go) {
  const input = h("input", { type: "search", value: key, class: "code", spellcheck: "false", autocapitalize: "none" });
  const element = form({
    class: "of-key",
    onsubmit: () => {
      keepTyped(element, false);
      const query = input.value.trim() ? `?key=${encodeURIComponent(input.value.trim())}` : "";
      return go(location.pathname + query);
    },
  }, field({ label: "Changes of one key", control: input }),
  h("button", { class: "button" }, "Show"));
  element.addEventListener("input", () => keepTyped(element, false));
  return element;
}

class Events {
  #known = new Set();

  constructor(path, key, context) {
    const filter = key ? `&filter[key]=${encodeURIComponent(key)}` : "";
    Object.assign(this, { path: `${path}?page[size]=${PAGE_SIZE}${filter}`, key, context });
    this.rows = h("ol", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.element = h("div", {}, this.rows, this.more);
  }

  /** Adds a page. What has happened meanwhile moves all others on: nothing is shown twice. */
  async draw(number) {
    const { document } = await read(`${this.path}&page[number]=${number}`, { signal: this.context.signal });
    const fresh = document.data.filter((one) => !this.#known.has(one.id));
    fresh.forEach((one) => this.#known.add(one.id));
    this.rows.append(...fresh.map((one) => row(one.attributes, this.context)));
    const { "next-page": next } = document.meta.pagination;
    this.more.replaceChildren(...(next ? [button("Older", () => this.draw(next))] : []));
    if (!this.#known.size) this.rows.replaceWith(this.#nothing());
  }

  #nothing() {
    return h("div", { class: "empty" }, h("h2", {}, this.key ? "No changes of this key" : "Nothing has changed yet"),
      h("p", {}, this.key ? "It is looked for exactly as it is written, in the newest 10,000 changes." : "Each change is listed here, with who made it."));
  }
}

function row(event, { organization, workspace }) {
  const { "created-at": at, changed, "token-description": token } = event;
  return h("li", { class: "row event" },
    h("span", { class: "name" },
      h("strong", {}, who(event)), " ", what(event, `/app/${organization}/workspaces/${workspace}`),
      changed.length > 0 && h("span", { class: "changes" }, changed.map((one) => h("span", { class: "badge" }, one)))),
    h("span", { class: "aside" }, time(at), token && [" with ", name(token)]));
}

/** Whoever it was, as the reader is told. */
function who({ actor, "actor-name": called }) {
  if (actor.type === "operator") return KINDS.operator;
  return [KINDS[actor.type] ?? "", called ? name(called) : h("span", { class: "code" }, actor.id)];
}

/** What they did, in words, with a way to what is still there. */
function what({ action, details }, here) {
  const isVariable = action.startsWith("variable.") && typeof details.key === "string";
  if (isVariable) return [`${VARIABLE[action] ?? action} `, variable(action, details, here)];
  return WORDS[action]?.(details) ?? action;
}

function variable(action, { key, from, category }, here) {
  const text = h("span", { class: "code" }, name(key));
  const found = action === "variable.delete" ? text
    : h("a", { href: `${here}?key=${encodeURIComponent(key)}` }, text);
  const former = typeof from === "string" && [", which was ", h("span", { class: "code" }, name(from))];
  return [found, former, h("span", { class: "hint" }, ` ${category}`)];
}

const VARIABLE = {
  "variable.create": "added", "variable.update": "changed", "variable.delete": "deleted",
  "variable.copy": "copied to another workspace",
};
const WORDS = {
  "workspace.create": () => "made this workspace",
  "workspace.update": () => "changed its settings",
  "workspace.rename": ({ from }) => ["renamed it from ", name(String(from))],
  "workspace.lock": () => "locked it",
  "workspace.unlock": () => "unlocked it",
};
