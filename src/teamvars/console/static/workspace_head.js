/** The head of a workspace's pages: its name, what one may do there, and which page it is. */

import { h, icon, name } from "./dom.js";

const PAGES = [["variables", "Variables", ""], ["activity", "Activity", "/activity"]];

export function workspaceHead({ organization }, { attributes }, current) {
  const base = `/app/${organization}/workspaces/${attributes.name}`;
  const may = attributes.permissions["can-update-variable"];
  const links = PAGES.map(([kind, text, below]) =>
    h("a", { href: base + below, "aria-current": kind === current && "page" }, text));
  return h("div", { class: "workspace-head" },
    h("h1", { tabindex: -1 }, name(attributes.name)),
    h("span", { class: "badge" }, may ? "read and write" : "read only"),
    attributes.locked && h("span", { class: "badge" }, icon("lock"), "locked"),
    h("nav", { class: "pages", "aria-label": "Of this workspace" }, links));
}
