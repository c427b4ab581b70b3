/** The workspaces of an organization that one may see, and where a key stands in them. */

import { read, readPage } from "./api.js";
import { announce, button, count, h, icon, name } from "./dom.js";
import { organizationHead } from "./organization_head.js";
import { KeySearch } from "./search.js";

const WAIT_MS = 200;

export async function workspacesPage({ organization, signal }) {
  const rows = h("ul", { class: "rows", role: "list" });
  const lead = h("p", { class: "lead" });
  const more = h("div", { class: "actions" });
  let asked = 0;
  /** Shows a page of those with these characters in their names, below the former ones. */
  const draw = async (words, number) => {
    const mine = ++asked;
    const { items, next, total } = await readPage(pathOf(organization, words), number, { signal });
    if (mine !== asked) return total; // something else was typed meanwhile
    if (number === 1) rows.replaceChildren();
    rows.append(...items.map((one) => row(organization, one)));
    if (!total) rows.append(h("li", { class: "hint" }, "No workspace has this in its name."));
    more.replaceChildren(...(next ? [button("Show more", () => draw(words, next))] : []));
    lead.replaceChildren(`${count(total, "workspace")} ${words ? "found" : "you can see"}`);
    if (words) announce(`${count(total, "workspace")} found`);
    return total;
  };
  const [found, total] = await Promise.all([
    read(`/organizations/${encodeURIComponent(organization)}`, { signal }),
    draw("", 1),
  ]);
  const title = organizationHead(found.document.data, "workspaces");
  if (!total) return h("section", {}, title, nothing());
  const keys = new KeySearch(organization, signal);
  const listed = h("div", {}, lead, rows, more);
  const byName = filter("Filter by name", (words) => draw(words, 1));
  const byKey = filter("Find a key in all of them", (text) => {
    listed.hidden = text !== "";
    return keys.find(text);
  });
  return h("section", {}, title, h("div", { class: "toolbar" }, byName, byKey), listed, keys.element);
}

function pathOf(organization, words) {
  const query = words ? `?search[name]=${encodeURIComponent(words)}` : "";
  return `/organizations/${encodeURIComponent(organization)}/workspaces${query}`;
}

/** A field that says what is in it, shortly after the last key. */
function filter(label, say) {
  let timer = null;
  const input = h("input", { type: "search", placeholder: label, "aria-label": label, spellcheck: "false",
    autocapitalize: "none", oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(() => say(input.value.trim()), WAIT_MS);
    } });
  return h("div", { class: "search" }, icon("search"), input);
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
