/** The workspaces of an organization that one may see, and where a key stands in them. */

import { read } from "./api.js";
import { count, h, icon, name } from "./dom.js";
import { organizationHead } from "./heads.js";
import { PagedList, searchField } from "./paged_list.js";
import { KeySearch } from "./search.js";

export async function workspacesPage({ organization, signal }) {
  const base = `/organizations/${encodeURIComponent(organization)}`;
  const list = new PagedList({
    path: (words) => `${base}/workspaces${words && `?search[name]=${encodeURIComponent(words)}`}`,
    row: (one) => row(organization, one), noun: "workspace", all: "you can see",
    none: "No workspace has this in its name.", nothing, signal,
  });
  const [found, total] = await Promise.all([read(base, { signal }), list.draw()]);
  const keys = new KeySearch(organization, signal);
  const byName = searchField("Filter by name", (words) => list.draw(words));
  const byKey = searchField("Find a key in all of them", (text) => {
    list.element.hidden = text !== "";
    return keys.find(text);
  });
  return h("section", {}, organizationHead(found.document.data, "workspaces"),
    total > 0 && h("div", { class: "toolbar" }, byName, byKey), list.element, keys.element);
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
    h("p", {}, "You see a workspace once one of your teams has a grant on it. Ask an owner, or somebody who manages your team."));
}
