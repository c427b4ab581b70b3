/** A project: which workspaces are in it, what it is called, and how it is deleted. */

import { Refused } from "./api.js";
import { deleteDialog } from "./delete_dialog.js";
import { addButton, button, count, h } from "./dom.js";
import { FormPlace } from "./fields.js";
import { projectHead, readProject } from "./heads.js";
import { movingForm } from "./moving.js";
import { notify } from "./notices.js";
import { PagedList } from "./paged_list.js";
import { projectForm } from "./projects.js";
import { workspaceRow } from "./workspaces.js";

/** @import { Context } from "./pages.js" */
/** @import { WorkspaceIncluded } from "./workspaces.js" */

/**
 * The workspaces that are in it, as far as one may see them.
 * @param {Context} context
 */
export async function projectPage(context) {
  const { organization, signal } = context;
  const project = await readProject(context);
  const may = project.attributes.permissions["can-move-workspace"];
  const base = `/organizations/${encodeURIComponent(organization)}`;
  /** @type {PagedList<Api.WorkspaceResource, WorkspaceIncluded>} */
  const list = new PagedList({
    path: (words) => `${base}/workspaces?include=effective_tag_bindings&filter[project][id]=${project.id}`
      + `&search[name]=${encodeURIComponent(words)}`,
    row: (one, included) => workspaceRow(organization, one, included), noun: "workspace", all: "in it",
    none: "No workspace in it has this in its name.", nothing: () => nothing(may), filter: "Filter by name", signal,
  });
  const place = new FormPlace();
  const move = () => place.open((end) => movingForm({ base, project, cancel: () => end(),
    done: (told) => {
      end(told);
      list.draw();
    } }));
  await list.draw();
  return h("section", {}, projectHead(context, project, "workspaces"),
    h("div", { class: "toolbar" }, list.filter,
      may && h("div", { class: "actions" }, addButton("Move workspaces here", move))),
    place.element, list.element);
}

/** @param {boolean} may */
function nothing(may) {
  return h("div", { class: "empty" }, h("h2", {}, "No workspace in it"),
    h("p", {}, may ? "Move the first ones here: each workspace is in one project."
      : "You see no workspace in it. Whoever manages workspaces and projects can move some here."));
}

/**
 * What it is called, and how it goes, for whoever manages projects.
 * @param {Context} context
 */
export async function projectSettingsPage(context) {
  const { organization, go } = context;
  const project = await readProject(context);
  if (!project.attributes.permissions["can-update"]) throw new Refused(404, []);
  const settings = projectForm({ path: `/projects/${project.id}`, project, done: async () => {
    await go(location.pathname, { replace: true });
    notify("told", "The project is saved.");
  } });
  return h("section", {}, projectHead(context, project, "settings"),
    h("div", { class: "narrow" }, settings, h("h2", { class: "part" }, "Delete the project"), deletion(organization, project, go)));
}

/**
 * @param {string} organization
 * @param {Api.ProjectResource} project
 * @param {Context["go"]} go
 */
function deletion(organization, { id, attributes }, go) {
  const { "workspace-count": many, permissions, name: called } = attributes;
  if (!permissions["can-destroy"]) {
    return h("p", { class: "lead" }, "It stays: workspaces are in it that nobody has put into another project.");
  }
  if (many) {
    return h("p", { class: "lead" }, `It cannot be deleted while workspaces are in it, and ${count(many, "workspace")} `,
      many === 1 ? "is" : "are", ". ", h("a", { href: `/app/${organization}/projects` }, "Move them to another project"), " first.");
  }
  const ask = () => deleteDialog({
    title: "Delete this project?", what: "name", word: called, path: `/projects/${id}`,
    text: "The access that teams have to it is deleted for ever: ",
  }, async () => {
    await go(`/app/${organization}/projects`);
    notify("told", `${called} is deleted.`);
  });
  return [h("p", { class: "lead" }, "No workspace is in it. The access that teams have to it is deleted with it."),
    h("div", { class: "actions" }, button("Delete project", ask, { picture: "remove" }))];
}
