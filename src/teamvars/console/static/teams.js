/** The teams of an organization that one may see, and the form of one. */

import { Change, changed, send } from "./api.js";
import { addButton, count, h, name } from "./dom.js";
import { FormPlace, choice, field, form, keepTyped, leaveButton, tick } from "./fields.js";
import { badges, organizationHead, readOrganization } from "./heads.js";
import { PagedList } from "./paged_list.js";

/** @import { Answer } from "./api.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {{name: string, visibility: Api.Visibility, manages: boolean}} Said */

const AT = "/data/attributes";
/** @type {{value: Api.Visibility, label: string}[]} */
const VISIBLE = [
  { value: "organization", label: "Everybody in the organization" },
  { value: "secret", label: "Its members and owners" },
];

/** @param {Context} context */
export async function teamsPage(context) {
  const { organization, go, signal } = context;
  const base = `/organizations/${encodeURIComponent(organization)}`;
  /** @type {PagedList<Api.TeamResource>} */
  const list = new PagedList({
    path: (words) => `${base}/teams${words && `?q=${encodeURIComponent(words)}`}`,
    row: (one) => row(organization, one), noun: "team", all: "you can see",
    none: "No team has this in its name.", nothing, filter: "Filter by name", signal,
  });
  const [found] = await Promise.all([readOrganization(context), list.draw()]);
  const place = new FormPlace();
  const may = found.attributes.permissions;
  const add = () => place.open((end) => teamForm({ path: `${base}/teams`, team: null, owns: may["can-update"], cancel: () => end(),
    done: ({ id }) => go(`/app/${organization}/teams/${id}`) }));
  return h("section", {}, organizationHead(found, "teams"),
    h("div", { class: "toolbar" }, list.filter,
      may["can-create-team"] && h("div", { class: "actions" }, addButton("New team", add))),
    place.element, list.element);
}

/**
 * @param {string} organization
 * @param {Api.TeamResource} team
 */
function row(organization, { id, attributes }) {
  return h("li", {},
    h("a", { class: "row", href: `/app/${organization}/teams/${id}` },
      h("span", { class: "name" }, name(attributes.name)), badges(attributes),
      h("span", { class: "aside" }, count(attributes["users-count"], "member"))));
}

function nothing() {
  return h("div", { class: "empty" },
    h("h2", {}, "No team that you may see"),
    h("p", {}, "Owners make teams and put people into them. Ask one of them."));
}

/**
 * The form. `team` is null for a new one, which is made at `path`, and `owns` whether by an owner; `done(resource)`
 * once it is saved.
 * @param {{path: string, team: Api.TeamResource | null, owns?: boolean, done: (resource: Api.TeamResource) => unknown,
 *   cancel: () => unknown}} said
 */
export function teamForm({ path, team, owns = false, done, cancel }) {
  const start = saidOf(team?.attributes);
  /** @type {Partial<Api.TeamPermissions>} */
  const may = team?.attributes.permissions ?? { "can-update-organization-access": owns };
  const named = h("input", { value: start.name, spellcheck: "false" });
  const visibility = choice({ legend: "Who sees it", options: VISIBLE, chosen: start.visibility, pointer: `${AT}/visibility` });
  const manages = tick({ label: "Manages members", checked: start.manages,
    pointer: `${AT}/organization-access/manage-membership`,
    hint: "Its members add and remove people in every team that they see, except owners." });
  const change = new Change();
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card",
    onsubmit: async (signal) => {
      const now = attributesOf({ name: named.value.trim(), visibility: visibility.chosen(), manages: manages.box.checked });
      const attributes = team ? changed(attributesOf(start), now) : now;
      const data = { type: "teams", ...(team && { id: team.id }), attributes };
      /** @type {Answer<Api.TeamDocument>} */
      const { document } = await send(team ? "PATCH" : "POST", path, { data }, { change, signal });
      keepTyped(element, false);
      done(document.data);
    },
  },
    h("h2", {}, team ? "Change the team" : "A new team"),
    may["can-update-name"] !== false && field({ label: "Name", control: named, pointer: `${AT}/name` }),
    visibility.element,
    may["can-destroy"] !== false && may["can-update-organization-access"] && manages.element,
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, team ? "Save" : "Create team"), leaveButton(cancel)));
  return element;
}

/**
 * @param {Api.TeamAttributes} [attributes]
 * @returns {Said}
 */
function saidOf(attributes) {
  if (!attributes) return { name: "", visibility: "organization", manages: false };
  const { name, visibility } = attributes;
  return { name, visibility, manages: attributes["organization-access"]["manage-membership"] };
}

/**
 * As a document has it.
 * @param {Said} said
 */
function attributesOf({ name, visibility, manages }) {
  return { name, visibility, "organization-access": { "manage-membership": manages } };
}
