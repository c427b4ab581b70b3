/** The variable sets of an organization that one may see, and the form of one. */

import { addButton, count, h, name } from "./dom.js";
import { FormPlace, tick } from "./fields.js";
import { organizationHead, projectHead, readOrganization, readProject, setBadges } from "./heads.js";
import { KeySetting } from "./key_setting.js";
import { namedForm } from "./named_form.js";
import { PagedList } from "./paged_list.js";

/** @import { Held } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {{name: string, description: string, global: boolean, priority: boolean}} Said */

const AT = "/data/attributes";

/**
 * All of them.
 * @param {Context} context
 */
export async function variableSetsPage(context) {
  const base = `/organizations/${encodeURIComponent(context.organization)}`;
  const found = await readOrganization(context);
  const may = found.attributes.permissions["can-manage-varsets"];
  return listPage(context, { head: organizationHead(found, "varsets"), path: `${base}/varsets`, may, project: null });
}

/**
 * Those of a project, and those that reach all in it.
 * @param {Context} context
 */
export async function projectSetsPage(context) {
  const project = await readProject(context);
  const may = project.attributes.permissions["can-manage-varsets"];
  return listPage(context, { head: projectHead(context, project, "varsets"), path: `/projects/${project.id}/varsets`, may, project });
}

/**
 * @param {Context} context
 * @param {{head: HTMLElement, path: string, may: boolean, project: Api.ProjectResource | null}} of
 */
async function listPage({ organization, go, signal }, { head, path, may, project }) {
  /** @type {PagedList<Api.VariableSetResource>} */
  const list = new PagedList({
    path: (words) => path + (words && `?q=${encodeURIComponent(words)}`),
    row: (one) => row(organization, one, one.attributes.permissions["can-update"] && setting.boxOf(one.id, one.attributes.name)),
    noun: "variable set", all: "you can see", none: "No variable set has this in its name.", nothing: () => nothing(may, add),
    drawn: (areAll) => setting.choosing.told(areAll), filter: "Filter by name", signal,
  });
  const base = `/organizations/${encodeURIComponent(organization)}`;
  const setting = new KeySetting({ type: "varsets", base, rows: list.rows, signal, again: () => list.draw() });
  const place = new FormPlace();
  const add = () => place.open((end) => setForm({ path: `${base}/varsets`, set: null, project,
    cancel: () => end(), done: ({ id }) => go(`/app/${organization}/varsets/${id}`) }));
  const total = await list.draw();
  return h("section", {}, head,
    (total > 0 || list.words) && h("div", { class: "toolbar" }, list.filter,
      h("div", { class: "actions" }, setting.button, may && addButton("New variable set", add))),
    place.element, setting.choosing.bar, list.element);
}

/**
 * @param {string} organization
 * @param {Api.VariableSetResource} set
 * @param {Element | false} box
 */
function row(organization, { id, attributes, relationships }, box) {
  const { name: called, description, global: isGlobal, "workspace-count": workspaces, "project-count": projects } = attributes;
  const isOfProject = relationships.parent.data.type === "projects";
  return h("li", { class: box && "choosing" }, box,
    h("a", { class: "row", href: `/app/${organization}/varsets/${id}` },
      h("span", { class: "name" }, name(called), description && h("span", { class: "description" }, name(description))),
      setBadges(attributes), isOfProject && h("span", { class: "badge" }, "of a project"),
      h("span", { class: "aside" }, count(attributes["var-count"], "variable")),
      projects > 0 && h("span", { class: "aside" }, count(projects, "project")),
      h("span", { class: "aside" }, isGlobal ? "every workspace" : count(workspaces, "workspace"))));
}

/**
 * @param {boolean} may
 * @param {() => unknown} add
 */
function nothing(may, add) {
  if (!may) {
    return h("div", { class: "empty" }, h("h2", {}, "No variable set that you may see"),
      h("p", {}, "You see a set once it reaches a workspace that you may read."));
  }
  return h("div", { class: "empty" }, h("h2", {}, "No variable set yet"),
    h("p", {}, "A set has variables that several workspaces share, such as the credentials of a cloud. Make one, add its variables, ",
      "and attach it to workspaces."),
    h("div", { class: "actions" }, addButton("New variable set", add)));
}

/**
 * The form. `set` is null for a new one, which is made at `path`, as one of the `project` if there is one;
 * `done(resource)` is called once it is saved, which `agrees(attributes, held)` may have prevented.
 * @param {{path: string, set: Api.VariableSetResource | null, project?: Api.ProjectResource | null,
 *   done: (resource: Api.VariableSetResource) => unknown, cancel?: () => unknown,
 *   agrees?: (attributes: Partial<Said>, held: Held) => Promise<boolean>}} said
 */
export function setForm({ path, set, project = null, done, cancel, agrees }) {
  /** @type {Said} */
  const start = set?.attributes ?? { name: "", description: "", global: false, priority: false };
  const everywhere = tick({ label: "Global", checked: start.global, pointer: `${AT}/global`,
    hint: "It reaches every workspace, those that are made later as well, and its sensitive values every runner of these." });
  const first = tick({ label: "Priority", checked: start.priority, pointer: `${AT}/priority`,
    hint: "Its variables come before those that a workspace has itself." });
  // Of a project none is global.
  everywhere.element.hidden = project !== null || set?.relationships.parent.data.type === "projects";
  return namedForm({
    type: "varsets", noun: "variable set", path, one: set, start, done, cancel, agrees,
    said: (named) => ({ ...named, global: everywhere.box.checked, priority: first.box.checked }),
    more: h("div", { class: "columns" }, everywhere.element, first.element),
    relationships: project && { parent: { data: { type: "projects", id: project.id } } },
  });
}
