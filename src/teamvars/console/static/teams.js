/** The teams of an organization that one may see. */

import { read } from "./api.js";
import { button, count, h, name } from "./dom.js";
import { organizationHead } from "./organization_head.js";
import { PagedList, searchField } from "./paged_list.js";
import { teamForm } from "./team_form.js";
import { badges } from "./team_head.js";

export async function teamsPage({ organization, go, signal }) {
  const base = `/organizations/${encodeURIComponent(organization)}`;
  const list = new PagedList({
    path: (words) => `${base}/teams${words && `?q=${encodeURIComponent(words)}`}`,
    row: (one) => row(organization, one), noun: "team", all: "you can see",
    none: "No team has this in its name.", nothing, signal,
  });
  const [found] = await Promise.all([read(base, { signal }), list.draw()]);
  const place = h("div", { class: "place" });
  const add = () => {
    const element = teamForm({ path: `${base}/teams`, team: null, cancel: () => place.replaceChildren(),
      done: ({ id }) => go(`/app/${organization}/teams/${id}`) });
    if (!place.firstChild) place.replaceChildren(element);
    place.querySelector("input").focus();
  };
  const may = found.document.data.attributes.permissions["can-create-team"];
  return h("section", {}, organizationHead(found.document.data, "teams"),
    h("div", { class: "toolbar" }, searchField("Filter by name", (words) => list.draw(words)),
      may && h("div", { class: "actions" }, button("New team", add, { kind: "primary", picture: "add" }))),
    place, list.element);
}

function row(organization, { id, attributes }) {
  return h("li", {},
    h("a", { class: "row", href: `/app/${organization}/teams/${id}` },
      h("span", { class: "name" }, name(attributes.name)), badges(attributes),
      h("span", { class: "aside" }, count(attributes["users-count"], "member"))));
}

function nothing() {
  return h("div", { class: "empty" },
    h("h2", {}, "No team that you may see"),
    h("p", {}, "Owners make teams and put people into them. Ask one of them."));
}
