/** The heads of pages: the name of what they are about, what is not so of all, and which page it is. */

import { Refused, read } from "./api.js";
import { count, h, icon, name } from "./dom.js";

export function organizationHead({ id, attributes }, current) {
  const pages = [["workspaces", "Workspaces"], ["projects", "Projects"], ["varsets", "Variable sets"], ["teams", "Teams"],
    ["members", "Members"]];
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

export function projectHead({ organization }, { id, attributes }, current) {
  const base = `/app/${organization}/projects/${id}`;
  const pages = [["workspaces", "Workspaces", base], ["varsets", "Variable sets", `${base}/varsets`],
    ["access", "Access", `${base}/access`]];
  if (attributes.permissions["can-update"]) pages.push(["settings", "Settings", `${base}/settings`]);
  return head(attributes.name, [about(attributes)], "Of this project", current, pages);
}

export function setHead({ organization }, { id, attributes, relationships }, current) {
  const base = `/app/${organization}/varsets/${id}`;
  const pages = [["variables", "Variables", base], ["attached", "Attached to", `${base}/attached`],
    ["activity", "Activity", `${base}/activity`]];
  if (attributes.permissions["can-update"]) pages.push(["settings", "Settings", `${base}/settings`]);
  const { type, id: parent } = relationships.parent.data;
  const whose = type === "projects" && h("a", { class: "badge", href: `/app/${organization}/projects/${parent}/varsets` }, "of a project");
  const marks = [...setBadges(attributes), whose, reach(attributes), about(attributes)];
  return head(attributes.name, marks, "Of this variable set", current, pages);
}

/** The workspace that the path names, and whether one owns its organization: it may be managed by others as well. */
export async function readWorkspace({ organization, workspace, signal }) {
  const path = `/organizations/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`;
  const { data, included: [owner] } = (await read(`${path}?include=organization`, { signal })).document;
  return { found: data, owns: owner.attributes.permissions["can-update"] };
}

/** The team that the path names, in the organization that it names. */
export async function readTeam(context) {
  return (await readHere(context, `/teams/${encodeURIComponent(context.team)}`)).data;
}

/** The project that the path names, likewise. */
export async function readProject(context) {
  return (await readHere(context, `/projects/${encodeURIComponent(context.project)}`)).data;
}

/** The variable set that the path names, likewise, and what it is attached to. */
export async function readSet(context) {
  const { data, included } = await readHere(context, `/varsets/${encodeURIComponent(context.varset)}?include=workspaces,projects`);
  const of = (type) => included.filter((one) => one.type === type).map(({ id, attributes }) => ({ id, called: attributes.name }));
  return { found: data, workspaces: of("workspaces"), projects: of("projects") };
}

async function readHere({ organization, signal }, path) {
  const { document } = await read(path, { signal });
  const isHere = document.data.relationships.organization.data.id.toLowerCase() === organization.toLowerCase();
  if (!isHere) throw new Refused(404, []);
  return document;
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

/** What is not so of every variable set. */
export function setBadges(attributes) {
  return [
    attributes.global && h("span", { class: "badge" }, "global"),
    attributes.priority && h("span", { class: "badge" }, "priority"),
  ];
}

/** How far what is changed in a set reaches at once. */
function reach({ global: isGlobal, "workspace-count": workspaces, "project-count": projects }) {
  if (isGlobal) return null;
  const parts = [workspaces > 0 && count(workspaces, "workspace"), projects > 0 && count(projects, "project")].filter(Boolean);
  return h("span", { class: "aside" }, parts.length ? `attached to ${parts.join(" and ")}` : "attached to nothing yet");
}

function about({ description }) {
  return description && h("p", { class: "lead about" }, name(description));
}

function head(called, marks, label, current, pages) {
  const links = pages.map(([kind, text, href]) => h("a", { href, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(called)), marks, h("nav", { class: "pages", "aria-label": label }, links));
}
