/** The projects of an organization that one may see, and the form of one. */

import { addButton, count, h, name } from "./dom.js";
import { FormPlace } from "./fields.js";
import { organizationHead, readOrganization } from "./heads.js";
import { namedForm } from "./named_form.js";
import { PagedList } from "./paged_list.js";

/** @import { Context } from "./pages.js" */

/** @param {Context} context */
export async function projectsPage(context) {
  const { organization, go, signal } = context;
  const base = `/organizations/${encodeURIComponent(organization)}`;
  /** @type {PagedList<Api.ProjectResource>} */
  const list = new PagedList({
    path: (words) => `${base}/projects${words && `?q=${encodeURIComponent(words)}`}`,
    row: (one) => row(organization, one), noun: "project", all: "you can see",
    none: "No project has this in its name.", nothing, filter: "Filter by name", signal,
  });
  const [found] = await Promise.all([readOrganization(context), list.draw()]);
  const place = new FormPlace();
  const add = () => place.open((end) => projectForm({ path: `${base}/projects`, project: null, cancel: () => end(),
    done: ({ id }) => go(`/app/${organization}/projects/${id}`) }));
  const may = found.attributes.permissions["can-create-project"];
  return h("section", {}, organizationHead(found, "projects"),
    h("div", { class: "toolbar" }, list.filter,
      may && h("div", { class: "actions" }, addButton("New project", add))),
    place.element, list.element);
}

/**
 * @param {string} organization
 * @param {Api.ProjectResource} project
 */
function row(organization, { id, attributes }) {
  return h("li", {},
    h("a", { class: "row", href: `/app/${organization}/projects/${id}` },
      h("span", { class: "name" }, name(attributes.name),
        attributes.description && h("span", { class: "description" }, name(attributes.description))),
      h("span", { class: "aside" }, count(attributes["team-count"], "team")),
      h("span", { class: "aside" }, count(attributes["workspace-count"], "workspace"))));
}

function nothing() {
  return h("div", { class: "empty" },
    h("h2", {}, "No project that you may see"),
    h("p", {}, "You see a project once one of your teams has access to it, or to a workspace in it. Ask an owner."));
}

/**
 * The form. `project` is null for a new one, which is made at `path`; `done(resource)` is called once it is saved.
 * @param {{path: string, project: Api.ProjectResource | null, done: (resource: Api.ProjectResource) => unknown,
 *   cancel?: () => unknown}} said
 */
export function projectForm({ path, project, done, cancel }) {
  const start = project?.attributes ?? { name: "", description: "" };
  return namedForm({ type: "projects", noun: "project", path, one: project, start, said: (named) => named, done, cancel });
}
