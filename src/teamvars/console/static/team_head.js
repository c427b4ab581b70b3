/** The head of a team's pages: its name, who sees it, and which page it is. */

import { Refused, read } from "./api.js";
import { h, icon, name } from "./dom.js";

/** The team that the path names, in the organization that it names. */
export async function readTeam({ organization, team, signal }) {
  const found = (await read(`/teams/${encodeURIComponent(team)}`, { signal })).document.data;
  const isHere = found.relationships.organization.data.id.toLowerCase() === organization.toLowerCase();
  if (!isHere) throw new Refused(404, []);
  return found;
}

export function teamHead({ organization }, { id, attributes }, current) {
  const base = `/app/${organization}/teams/${id}`;
  const pages = [["members", "Members", ""]];
  if (attributes.permissions["can-update-membership"]) pages.push(["activity", "Activity", "/activity"]);
  const links = pages.map(([kind, text, below]) =>
    h("a", { href: base + below, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(attributes.name)), badges(attributes),
    h("nav", { class: "pages", "aria-label": "Of this team" }, links));
}

/** What is not so of every team. */
export function badges(attributes) {
  const manages = attributes["organization-access"]["manage-membership"] && attributes.permissions["can-destroy"];
  return [
    attributes.visibility === "secret" && h("span", { class: "badge" }, icon("lock"), "secret"),
    manages && h("span", { class: "badge" }, "manages members"),
  ];
}
