/** The organizations one is in. */

import { readAll } from "./api.js";
import { h, name } from "./dom.js";

export async function organizationsPage({ account, go, signal }) {
  const found = await readAll("/organizations", { signal });
  if (found.length === 1) {
    await go(`/app/${found[0].id}/workspaces`, { replace: true });
    return null;
  }
  const title = h("h1", { tabindex: -1 }, "Organizations");
  if (!found.length) return h("section", {}, title, nothing(account));
  const rows = found.map(({ id, attributes }) =>
    h("li", {}, h("a", { href: `/app/${id}/workspaces`, class: "row" },
      h("span", { class: "name" }, name(id)),
      h("span", { class: "aside" }, attributes.permissions["can-update"] ? "owner" : "member"))));
  return h("section", {}, title, h("ul", { class: "rows", role: "list" }, rows));
}

function nothing(account) {
  return h("div", { class: "empty" },
    h("h2", {}, "You are in no organization yet"),
    h("p", {}, "An owner of one can invite you as ", h("strong", {}, name(account.name)),
      ". Once you have accepted, it is here."));
}
