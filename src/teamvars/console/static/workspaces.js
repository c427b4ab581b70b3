/** The workspaces of an organization that one may see. */

import { readAll } from "./api.js";
import { announce, count, h, icon, name } from "./dom.js";


export async function workspacesPage({ organization, signal }) {
  const base = `/organizations/${encodeURIComponent(organization)}/workspaces`;
  const all = await readAll(base, { signal });
  const rows = h("ul", { class: "rows", role: "list" });
  const input = h("input", { type: "search", placeholder: "Filter by name", "aria-label": "Filter by name",
    spellcheck: "false", oninput: () => draw() });
  const draw = () => {
    const words = input.value.trim().toLowerCase();
    const found = all.filter((one) => one.attributes.name.toLowerCase().includes(words));
    rows.replaceChildren(...found.map((one) => row(organization, one)));
    if (!found.length) rows.append(h("li", { class: "hint" }, "No workspace has this in its name."));
    if (words) announce(count(found.length, "workspace"));
  };
  draw();
  const title = h("h1", { tabindex: -1 }, "Workspaces");
  if (!all.length) return h("section", {}, title, nothing());
  return h("section", {},
    title, h("p", { class: "lead" }, `${count(all.length, "workspace")} you can see in `, name(organization)),
    h("div", { class: "toolbar" }, h("div", { class: "search" }, icon("search"), input)),
    rows);
}

function row(organization, { attributes }) {
  const may = attributes.permissions["can-update-variable"] ? "read and write" : "read";
  return h("li", {},
    h("a", { class: "row", href: `/app/${organization}/workspaces/${attributes.name}` },
      h("span", { class: "name" }, name(attributes.name)),
      attributes.locked && h("span", { class: "badge" }, icon("lock"), "locked"),
      h("span", { class: "aside" }, count(attributes["variables-count"], "variable")),
      h("span", { class: "aside may" }, may)));
}

function nothing() {
  return h("div", { class: "empty" },
    h("h2", {}, "No workspace that you may see"),
    h("p", {}, "You see a workspace once one of your teams has a grant on it. Ask an owner, or whoever manages your team."));
}
