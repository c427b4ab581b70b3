/** The workspaces of an organization that one may see, and where a key stands in them. */

import { late, oneOf } from "./api.js";
import { addButton, count, h, icon, name } from "./dom.js";
import { FormPlace } from "./fields.js";
import { organizationHead, readOrganization } from "./heads.js";
import { KeySetting } from "./key_setting.js";
import { PagedList, searchField } from "./paged_list.js";
import { address } from "./pages.js";
import { KeySearch } from "./search.js";

/** @import { Context } from "./pages.js" */
/** @typedef {NonNullable<Api.WorkspaceListDocument["included"]>[number]} WorkspaceIncluded */

const MOST_TAGS = 5;

/** @param {Context} context */
export async function workspacesPage(context) {
  const { organization, go, signal } = context;
  const base = `/organizations/${encodeURIComponent(organization)}`;
  /** @type {PagedList<Api.WorkspaceResource, WorkspaceIncluded>} */
  const list = new PagedList({
    path: (words) => `${base}/workspaces?include=effective_tag_bindings,project&search[name]=${encodeURIComponent(words)}`,
    row: (one, included) => workspaceRow(organization, one, included,
      one.attributes.permissions["can-update-variable"] && setting.boxOf(one.id, one.attributes.name)),
    noun: "workspace", all: "you can see", none: "No workspace has this in its name.", nothing: () => nothing(may, add),
    drawn: (areAll) => setting.choosing.told(areAll), filter: "Filter by name", signal,
  });
  const setting = new KeySetting({ type: "workspaces", base, rows: list.rows, signal, again: () => list.draw(),
    searched: () => address.said("key") });
  const found = await readOrganization(context);
  const may = found.attributes.permissions["can-create-workspace"];
  const place = new FormPlace();
  const add = async () => {
    const { workspaceForm } = await late(() => import("./workspace_form.js"));
    place.open((end) => workspaceForm({ path: `${base}/workspaces`, workspace: null, cancel: () => end(),
      done: ({ attributes }) => go(`/app/${organization}/workspaces/${attributes.name}`) }));
  };
  const total = await list.draw();
  const keys = new KeySearch(organization, signal);
  const chosen = h("div", {}, setting.choosing.bar, list.element);
  const find = (/** @type {string} */ text) => {
    chosen.hidden = text !== "";
    return keys.find(text);
  };
  await find(address.said("key"));
  const byKey = searchField("Find a key anywhere", find, "key");
  const acts = h("div", { class: "actions" }, setting.button, may && addButton("New workspace", add));
  return h("section", {}, organizationHead(found, "workspaces"),
    (total > 0 || list.words) && h("div", { class: "toolbar" }, list.filter, byKey, acts), place.element,
    chosen, keys.element);
}

/**
 * One of them, and its project where that is `included`; with a box where one chooses some.
 * @param {string} organization
 * @param {Api.WorkspaceResource} workspace
 * @param {WorkspaceIncluded[]} included
 * @param {Element | false} [box]
 */
export function workspaceRow(organization, { attributes, relationships }, included, box = false) {
  const may = attributes.permissions["can-update-variable"] ? "read and write" : "read";
  const project = oneOf(included, "projects", relationships.project.data.id);
  return h("li", { class: box && "choosing" }, box,
    h("a", { class: "row", href: `/app/${organization}/workspaces/${attributes.name}` },
      h("span", { class: "name" }, name(attributes.name), tags(attributes, relationships, included),
        attributes.description && h("span", { class: "description" }, name(attributes.description))),
      attributes.locked && h("span", { class: "badge" }, icon("lock"), "locked"),
      project && h("span", { class: "aside project" }, name(project.attributes.name)),
      h("span", { class: "aside" }, count(attributes["variables-count"], "variable")),
      h("span", { class: "aside may" }, may)));
}

/**
 * The names and the keys with values, as many as have room beside others.
 * @param {Api.WorkspaceAttributes} attributes
 * @param {Api.WorkspaceRelationships} relationships
 * @param {WorkspaceIncluded[]} included
 */
function tags(attributes, relationships, included) {
  const ids = new Set(relationships["effective-tag-bindings"].data.map((one) => one.id));
  const bindings = included.filter((one) => one.type === "effective-tag-bindings").filter((one) => ids.has(one.id))
    .map((one) => `${one.attributes.key}=${one.attributes.value}`);
  const all = [...attributes["tag-names"], ...bindings];
  if (!all.length) return null;
  const some = all.slice(0, MOST_TAGS).map((text) => h("span", { class: "badge" }, name(text)));
  const rest = all.length > MOST_TAGS && h("span", { class: "badge", title: all.slice(MOST_TAGS).join(", ") },
    `and ${all.length - MOST_TAGS} more`);
  return h("span", { class: "changes", "aria-label": "Tags" }, some, rest);
}

/**
 * Whoever may make the first one reads how to begin, and begins.
 * @param {boolean} may
 * @param {() => unknown} add
 */
function nothing(may, add) {
  if (!may) {
    return h("div", { class: "empty" },
      h("h2", {}, "No workspace that you may see"),
      h("p", {}, "You see a workspace once one of your teams has a grant on it. Ask an owner, or somebody who manages your team."));
  }
  return h("div", { class: "empty" },
    h("h2", {}, "No workspace yet"),
    h("p", {}, "Begin with one: it has the variables of one thing that you run. Then make teams, invite people into them, ",
      "and give the teams access at the workspace."),
    h("div", { class: "actions" }, addButton("New workspace", add)));
}
