/** The heads of pages: the name of what they are about, what is not so of all, and which page it is. */

import { Refused, read } from "./api.js";
import { h, icon, name } from "./dom.js";

export function organizationHead({ id, attributes }, current) {
  const pages = [["workspaces", "Workspaces"], ["teams", "Teams"], ["members", "Members"]];
  if (attributes.permissions["can-update"]) pages.push(["runners", "Runners"], ["activity", "Activity"]);
  return head(id, [], "Of this organization", current, pages.map(([kind, text]) => [kind, text, `/app/${id}/${kind}`]));
}

export function workspaceHead({ organization }, { attributes }, current) {
  const base = `/app/${organization}/workspaces/${attributes.name}`;
  const may = attributes.permissions["can-update-variable"];
  const marks = [
    h("span", { class: "badge" }, may ? "read and write" : "read only"),
    attributes.locked && h("span", { class: "badge" }, icon("lock"), "locked"),
  ];
  const pages = [["variables", "Variables", base], ["access", "Access", `${base}/access`], ["activity", "Activity", `${base}/activity`]];
  if (attributes.permissions["can-update"]) pages.push(["settings", "Settings", `${base}/settings`]);
  return head(attributes.name, marks, "Of this workspace", current, pages);
}

export function teamHead({ organization }, { id, attributes }, current) {
  const base = `/app/${organization}/teams/${id}`;
  const pages = [["members", "Members", base], ["workspaces", "Workspaces", `${base}/workspaces`]];
  if (attributes.permissions["can-update-membership"]) pages.push(["activity", "Activity", `${base}/activity`]);
  return head(attributes.name, badges(attributes), "Of this team", current, pages);
}

/** The workspace that the path names, and whether one owns its organization: it may be managed by others as well. */
export async function readWorkspace({ organization, workspace, signal }) {
  const path = `/organizations/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`;
  const { data, included: [owner] } = (await read(`${path}?include=organization`, { signal })).document;
  return { found: data, owns: owner.attributes.permissions["can-update"] };
}

/** The team that the path names, in the organization that it names. */
export async function readTeam({ organization, team, signal }) {
  const found = (await read(`/teams/${encodeURIComponent(team)}`, { signal })).document.data;
  const isHere = found.relationships.organization.data.id.toLowerCase() === organization.toLowerCase();
  if (!isHere) throw new Refused(404, []);
  return found;
}

/** Whether it is the team whose members may do everything. */
export function isOwners({ attributes }) {
  return attributes.name.toLowerCase() === "owners";
}

/** What is not so of every team. */
export function badges(attributes) {
  const manages = attributes["organization-access"]["manage-membership"] && attributes.permissions["can-destroy"];
  return [
    attributes.visibility === "secret" && h("span", { class: "badge" }, icon("lock"), "secret"),
    manages && h("span", { class: "badge" }, "manages members"),
  ];
}

function head(called, marks, label, current, pages) {
  const links = pages.map(([kind, text, href]) => h("a", { href, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(called)), marks, h("nav", { class: "pages", "aria-label": label }, links));
}
