/** What somebody leaves behind in an organization, for its owners, who end it. */

import { read, Refused, remove } from "./api.js";
import { ask } from "./dialogs.js";
import { button, count, h, name } from "./dom.js";
import { organizationHead, readOrganization } from "./heads.js";
import { notify } from "./notices.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */

/** @param {Context} context */
export async function leavingPage(context) {
  const { organization, query, signal, go } = context;
  const found = await readOrganization(context);
  if (!found.attributes.permissions["can-manage-users"]) throw new Refused(404, []);
  const path = `/organizations/${encodeURIComponent(organization)}/users/${encodeURIComponent(query.get("user") ?? "")}/left-behind`;
  /** @type {Answer<Api.LeftBehindDocument>} */
  const { document: { data: { attributes: left } } } = await read(path, { signal });
  const ending = left.tokens.length + left.runners.length + left.invitations.length;
  const end = async () => {
    const text = "Whoever uses these tokens and runners is refused from then on, and these invitations open nothing.";
    if (!(await ask("End what they leave behind?", text, "End it", { kind: "danger" }))) return;
    await remove(path);
    await go(location.pathname + location.search, { replace: true });
    notify("told", "It has ended.");
  };
  return h("section", {}, organizationHead(found, "members"),
    h("h2", { class: "part" }, "What they leave behind"),
    part("Tokens that they made", left.tokens, ({ description, owner }) =>
      [name(description || "without a description"), " of the ", owner]),
    part("Runners that they proposed", left.runners, (one) => name(one.name)),
    part("Invitations that they sent", left.invitations, (one) => name(one.email ?? one.id)),
    part("Teams that they hold alone", left.teams, ({ id, name: called }) =>
      h("a", { href: `/app/${organization}/teams/${id}` }, name(called))),
    left.teams.length > 0 && h("p", { class: "notice" }, "Add somebody to these teams: nobody else can act for them."),
    ending > 0 && h("div", { class: "actions" }, button(`End ${count(ending, "thing")}`, end, { kind: "danger" })));
}

/**
 * What there is of a kind, one a row.
 * @template T
 * @param {string} title
 * @param {T[]} those
 * @param {(one: T) => Child} shown
 */
function part(title, those, shown) {
  const rows = those.map((one) => h("li", { class: "row" }, h("span", { class: "name" }, shown(one))));
  return [h("h3", {}, title), those.length ? h("ul", { class: "rows", role: "list" }, rows) : h("p", { class: "hint" }, "None.")];
}
