/** The organizations one is in, and those that wait until one accepts. */

import { readAll, send } from "./api.js";
import { button, h, name, time } from "./dom.js";

/** @import { Context } from "./pages.js" */

/** @param {Context} context */
export async function organizationsPage({ account, go, signal }) {
  const who = await account;
  /** @type {[Api.OrganizationResource[], Api.MembershipResource[]]} */
  const [found, memberships] = await Promise.all([
    readAll("/organizations", { signal }),
    who.isUser ? readAll("/organization-memberships", { signal }) : [],
  ]);
  const invitations = memberships.filter((one) => one.attributes.status === "invited");
  if (found.length === 1 && !invitations.length) {
    await go(`/app/${found[0].id}/workspaces`, { replace: true });
    return null;
  }
  const title = h("h1", { tabindex: -1 }, "Organizations");
  if (!found.length && !invitations.length) return h("section", {}, title, nothing(who));
  const rows = found.map(({ id, attributes }) =>
    h("li", {}, h("a", { href: `/app/${id}/workspaces`, class: "row" },
      h("span", { class: "name" }, name(id)),
      h("span", { class: "aside" }, attributes.permissions["can-update"] ? "owner" : "member"))));
  return h("section", {}, title,
    h("ul", { class: "rows", role: "list" }, invitations.map((one) => invitationRow(one, go)), rows));
}

/**
 * @param {Api.MembershipResource} membership
 * @param {Context["go"]} go
 */
function invitationRow({ id, attributes: { invitation }, relationships }, go) {
  const organization = relationships.organization.data.id;
  const accept = async () => {
    await send("POST", `/organization-memberships/${id}/actions/accept`, undefined, { repeats: true });
    await go(`/app/${organization}/workspaces`);
  };
  return h("li", { class: "row" },
    h("span", { class: "name" }, name(organization), " ", h("span", { class: "badge" }, "invited")),
    invitation && h("span", { class: "aside" }, "ends ", time(invitation["expires-at"])),
    button("Accept", accept, { kind: "primary", "aria-label": `Accept the invitation to ${organization}` }));
}

/** @param {import("./signin.js").Account} account */
function nothing(account) {
  return h("div", { class: "empty" },
    h("h2", {}, "You are in no organization yet"),
    h("p", {}, "An owner of one can invite you as ", h("strong", {}, name(account.name)),
      ". Once you have accepted, it is here."));
}
