/** The projects of an organization that one may see, and the form of one. */

import { Change, changed, send } from "./api.js";
import { addButton, count, h, name } from "./dom.js";
import { FormPlace, field, form, keepTyped, leaveButton } from "./fields.js";
import { organizationHead, readOrganization } from "./heads.js";
import { PagedList, searchField } from "./paged_list.js";

/** @import { Answer } from "./api.js" */
/** @import { Context } from "./pages.js" */

const AT = "/data/attributes";

/** @param {Context} context */
export async function projectsPage(context) {
  const { organization, go, signal } = context;
  const base = `/organizations/${encodeURIComponent(organization)}`;
  /** @type {PagedList<Api.ProjectResource>} */
  const list = new PagedList({
    path: (words) => `${base}/projects${words && `?q=${encodeURIComponent(words)}`}`,
    row: (one) => row(organization, one), noun: "project", all: "you can see",
    none: "No project has this in its name.", nothing, signal,
  });
  const [found] = await Promise.all([readOrganization(context), list.draw()]);
  const place = new FormPlace();
  const add = () => place.open((end) => projectForm({ path: `${base}/projects`, project: null, cancel: () => end(),
    done: ({ id }) => go(`/app/${organization}/projects/${id}`) }));
  const may = found.attributes.permissions["can-create-project"];
  return h("section", {}, organizationHead(found, "projects"),
    h("div", { class: "toolbar" }, searchField("Filter by name", (words) => list.draw(words)),
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
  const named = h("input", { value: start.name, spellcheck: "false" });
  const description = h("textarea", { rows: 2, value: start.description });
  const change = new Change();
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": project ? "Change the project" : "A new project",
    onsubmit: async (signal) => {
      const now = { name: named.value.trim(), description: description.value };
      const attributes = project ? changed(start, now) : now;
      const data = { type: "projects", ...(project && { id: project.id }), attributes };
      /** @type {Answer<Api.ProjectDocument>} */
      const { document } = await send(project ? "PATCH" : "POST", path, { data }, { change, signal });
      keepTyped(element, false);
      done(document.data);
    },
  },
    !project && h("h2", {}, "A new project"),
    field({ label: "Name", control: named, pointer: `${AT}/name` }),
    field({ label: "Description", control: description, pointer: `${AT}/description` }),
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, project ? "Save" : "Create project"), cancel && leaveButton(cancel)));
  return element;
}
