/** The heads of pages: the name of what they are about, what is not so of all, and which page it is. */

import { Refused, oneOf, read } from "./api.js";
import { count, h, icon, name } from "./dom.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */

/** What somebody may do with variables, from the least to the most. */
export const LEVELS = { none: "no access", read: "read", write: "read and write" };

/**
 * @param {Api.OrganizationResource} organization
 * @param {string} current which of its pages it is
 */
export function organizationHead({ id, attributes }, current) {
  const pages = [["workspaces", "Workspaces"], ["projects", "Projects"], ["varsets", "Variable sets"], ["teams", "Teams"],
    ["members", "Members"]];
  if (attributes.permissions["can-update"]) {
    pages.push(["runners", "Runners"], ["activity", "Activity"], ["settings", "Settings"]);
  }
  return head(id, [], "Of this organization", current, pages.map(([kind, text]) => [kind, text, `/app/${id}/${kind}`]));
}

/**
 * @param {Context} context
 * @param {Api.WorkspaceResource} workspace
 * @param {string} current
 */
export function workspaceHead({ organization }, { attributes }, current) {
  const base = `/app/${organization}/workspaces/${attributes.name}`;
  const may = attributes.permissions["can-update-variable"];
  const marks = [
    h("span", { class: "badge" }, may ? "read and write" : "read only"),
    attributes.locked && h("span", { class: "badge" }, icon("lock"), "locked"),
  ];
  const pages = [["variables", "Variables", base], ["compare", "Compare", `${base}/compare`],
    ["access", "Access", `${base}/access`], ["activity", "Activity", `${base}/activity`]];
  if (attributes.permissions["can-update"]) pages.push(["settings", "Settings", `${base}/settings`]);
  return head(attributes.name, marks, "Of this workspace", current, pages);
}

/**
 * @param {Context} context
 * @param {Api.TeamResource} team
 * @param {string} current
 */
export function teamHead({ organization }, { id, attributes }, current) {
  const base = `/app/${organization}/teams/${id}`;
  const pages = [["members", "Members", base], ["workspaces", "Workspaces", `${base}/workspaces`]];
  if (attributes.permissions["can-update-membership"]) pages.push(["activity", "Activity", `${base}/activity`]);
  return head(attributes.name, badges(attributes), "Of this team", current, pages);
}

/**
 * @param {Context} context
 * @param {Api.ProjectResource} project
 * @param {string} current
 */
export function projectHead({ organization }, { id, attributes }, current) {
  const base = `/app/${organization}/projects/${id}`;
  const pages = [["workspaces", "Workspaces", base], ["varsets", "Variable sets", `${base}/varsets`],
    ["access", "Access", `${base}/access`]];
  if (attributes.permissions["can-update"]) pages.push(["settings", "Settings", `${base}/settings`]);
  return head(attributes.name, [about(attributes)], "Of this project", current, pages);
}

/**
 * @param {Context} context
 * @param {Api.VariableSetResource} set
 * @param {string} current
 */
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

/**
 * The organization that the path names.
 * @param {Context} context
 */
export async function readOrganization({ organization, signal }) {
  /** @type {Answer<Api.OrganizationDocument>} */
  const { document } = await read(`/organizations/${encodeURIComponent(organization)}`, { signal });
  return document.data;
}

/**
 * The workspace that the path names, and whether one owns its organization: it may be managed by others as well.
 * @param {Context} context
 */
export async function readWorkspace({ organization, workspace, signal }) {
  const path = `/organizations/${encodeURIComponent(organization)}/workspaces/${encodeURIComponent(workspace)}`;
  /** @type {Answer<Api.WorkspaceDocument>} */
  const { document: { data, included = [] } } = await read(`${path}?include=organization`, { signal });
  const owner = oneOf(included, "organizations", data.relationships.organization.data.id);
  return { found: data, owns: owner?.attributes.permissions["can-update"] ?? false };
}

/**
 * The team that the path names, in the organization that it names.
 * @param {Context} context
 */
export async function readTeam(context) {
  /** @type {Api.TeamDocument} */
  const { data } = await readHere(context, `/teams/${encodeURIComponent(context.team)}`);
  return data;
}

/**
 * The project that the path names, likewise.
 * @param {Context} context
 */
export async function readProject(context) {
  /** @type {Api.ProjectDocument} */
  const { data } = await readHere(context, `/projects/${encodeURIComponent(context.project)}`);
  return data;
}

/**
 * The variable set that the path names, likewise, and what it is attached to.
 * @param {Context} context
 */
export async function readSet(context) {
  /** @type {Api.VariableSetDocument} */
  const { data, included = [] } = await readHere(context, `/varsets/${encodeURIComponent(context.varset)}?include=workspaces,projects`);
  const of = (/** @type {string} */ type) =>
    included.filter((one) => one.type === type).map(({ id, attributes }) => ({ id, called: attributes.name }));
  return { found: data, workspaces: of("workspaces"), projects: of("projects") };
}

/**
 * @template {{data: {relationships: {organization: Api.OrganizationLinkage}}}} D
 * @param {Context} context
 * @param {string} path
 */
async function readHere({ organization, signal }, path) {
  /** @type {Answer<D>} */
  const { document } = await read(path, { signal });
  const isHere = document.data.relationships.organization.data.id.toLowerCase() === organization.toLowerCase();
  if (!isHere) throw new Refused(404, []);
  return document;
}

/**
 * Whether it is the team whose members may do everything.
 * @param {Api.TeamResource} team
 */
export function isOwners({ attributes }) {
  return attributes.name.toLowerCase() === "owners";
}

/**
 * What is not so of every team.
 * @param {Api.TeamAttributes} attributes
 */
export function badges(attributes) {
  const manages = attributes["organization-access"]["manage-membership"] && attributes.permissions["can-destroy"];
  return [
    attributes.visibility === "secret" && h("span", { class: "badge" }, icon("lock"), "secret"),
    manages && h("span", { class: "badge" }, "manages members"),
  ];
}

/**
 * What is not so of every variable set.
 * @param {Api.VariableSetAttributes} attributes
 */
export function setBadges(attributes) {
  return [
    attributes.global && h("span", { class: "badge" }, "global"),
    attributes.priority && h("span", { class: "badge" }, "priority"),
  ];
}

/**
 * How far what is changed in a set reaches at once.
 * @param {Api.VariableSetAttributes} attributes
 */
function reach({ global: isGlobal, "workspace-count": workspaces, "project-count": projects }) {
  if (isGlobal) return null;
  const parts = [workspaces > 0 && count(workspaces, "workspace"), projects > 0 && count(projects, "project")].filter(Boolean);
  return h("span", { class: "aside" }, parts.length ? `attached to ${parts.join(" and ")}` : "attached to nothing yet");
}

/** @param {{description: string}} attributes */
function about({ description }) {
  return description && h("p", { class: "lead about" }, name(description));
}

/**
 * @param {string} called
 * @param {Child} marks
 * @param {string} label
 * @param {string} current
 * @param {string[][]} pages of each the kind, the text and the address
 */
function head(called, marks, label, current, pages) {
  const links = pages.map(([kind, text, href]) => h("a", { href, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(called)), marks, h("nav", { class: "pages", "aria-label": label }, links));
}
