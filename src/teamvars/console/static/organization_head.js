/** The head of an organization's pages: its name, and which page it is. */

import { h, name } from "./dom.js";

export function organizationHead({ id, attributes }, current) {
  const pages = [["workspaces", "Workspaces"], ["teams", "Teams"]];
  if (attributes.permissions["can-update"]) pages.push(["activity", "Activity"]);
  const links = pages.map(([kind, text]) =>
    h("a", { href: `/app/${id}/${kind}`, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(id)),
    h("nav", { class: "pages", "aria-label": "Of this organization" }, links));
}
