/** The people of an organization: who is in it, and who is invited. */

import { Change, Refused, remove, send, unlessGone } from "./api.js";
import { ask } from "./dialogs.js";
import { addButton, announce, button, h, icon, listed, name, nodes, time } from "./dom.js";
import { FormPlace, choice } from "./fields.js";
import { lead } from "./hands.js";
import { organizationHead, readOrganization } from "./heads.js";
import { inviteForm } from "./invite_form.js";
import { PagedList } from "./paged_list.js";
import { address } from "./pages.js";
import { personOf, tellLastOwner } from "./people.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */
/** @import { Included, Person } from "./people.js" */
/** @typedef {Api.MembershipAttributes["invitation"]} Invitation */

const STATUSES = [{ value: "", label: "All" }, { value: "active", label: "Active" }, { value: "invited", label: "Invited" }];
/** @type {Record<Api.Delivery, string>} */
const DELIVERIES = {
  waiting: "message on its way", sent: "message sent", failed: "message refused by the mail server",
  shown: "link handed over by an operator", none: "not sent",
};
const MOST_TEAMS = 6;

/** @param {Context} context */
export async function membersPage(context) {
  const path = `/organizations/${encodeURIComponent(context.organization)}`;
  const found = await readOrganization(context);
  const page = new MembersPage(context, path, found);
  await page.list.draw();
  page.begin(context.query);
  return page.element;
}

class MembersPage {
  /**
   * @param {Context} context
   * @param {string} path
   * @param {Api.OrganizationResource} organization
   */
  constructor(context, path, organization) {
    this.context = context;
    this.path = path;
    this.status = STATUSES.find(({ value }) => value === address.said("status"))?.value ?? "";
    this.may = organization.attributes.permissions["can-manage-users"];
    this.place = new FormPlace();
    this.noMail = h("p", { class: "notice", hidden: true }, h("span", {},
      "This server sends no mail. People with a token here sign in and accept. Somebody new needs a link, which an operator prints with ",
      h("code", {}, "teamvars invite resend"), "."));
    /** @type {PagedList<Api.MembershipResource, Included>} */
    this.list = new PagedList({
      path: (words) => this.#pathOf(words), row: (one, included) => this.#row(one, included), noun: nounOf(this.status),
      none: "Nobody has this in their name or address.", nothing: () => this.#nothing(), filter: "Filter by name or address",
      signal: context.signal,
    });
    this.element = h("section", {}, organizationHead(organization, "members"),
      this.#toolbar(), this.place.element, this.noMail, this.list.element);
  }

  /** @param {string} words */
  #pathOf(words) {
    const query = new URLSearchParams({ include: "user,teams", sort: "username" });
    if (words) query.set("q", words);
    if (this.status) query.set("filter[status]", this.status);
    return `${this.path}/organization-memberships?${query}`;
  }

  #toolbar() {
    const statuses = choice({ legend: "Status", quiet: true, options: STATUSES, chosen: this.status, onchange: (status) => {
      address.keep("status", status);
      this.status = status;
      this.list.noun = nounOf(status);
      return this.list.draw();
    } });
    return h("div", { class: "toolbar" },
      this.list.filter,
      h("div", { class: "tabs-place" }, statuses.element),
      this.may && h("div", { class: "actions" }, addButton("Invite", () => this.#invite())));
  }

  /**
   * @param {Api.MembershipResource} one
   * @param {Included[]} included
   */
  #row(one, included) {
    const { attributes: { invitation } } = one;
    const person = personOf(one, included);
    const { username, email, isInvited } = person;
    const state = h("span", { class: "aside" }, isInvited && this.#stateOf(invitation));
    return h("li", { class: "row" },
      h("span", { class: "name" }, name(username),
        email && email !== username && h("span", { class: "description" }, name(email))),
      h("span", { class: "aside" }, this.#teamsOf(person, included)),
      isInvited && [h("span", { class: "badge" }, "invited"), state],
      this.may && (isInvited ? this.#ofInvited(person, state, invitation) : this.#ofMember(person)));
  }

  /**
   * @param {Person} person
   * @param {Included[]} included
   * @returns {Child}
   */
  #teamsOf({ teamIds }, included) {
    const teams = included.filter((one) => one.type === "teams").filter((one) => teamIds.includes(one.id));
    const links = teams.slice(0, MOST_TEAMS).map(({ id, attributes }) =>
      h("a", { href: `/app/${this.context.organization}/teams/${id}` }, name(attributes.name)));
    return [listed(links), teams.length > MOST_TEAMS && `, and ${teams.length - MOST_TEAMS} more`];
  }

  /**
   * @param {Person} person
   * @param {Element} state
   * @param {Invitation} invitation
   */
  #ofInvited({ membershipId, username }, state, invitation) {
    // A server without mail sends nothing again: it is good for longer.
    const again = !invitation || invitation.delivery === "none" ? "Renew" : "Resend";
    const path = `/organization-memberships/${membershipId}/actions`;
    const resending = new Change();
    const revoking = new Change();
    const resend = async () => {
      /** @type {Answer<Api.MembershipDocument>} */
      const { document } = await this.list.answer(send("POST", `${path}/resend`, undefined, { change: resending }));
      const { invitation } = document.data.attributes;
      state.replaceChildren("renewed, ", ...nodes(this.#stateOf(invitation)));
      announce(invitation?.delivery === "none" ? `The invitation of ${username} is valid for seven days again.`
        : `A new link goes to ${username}. The old one is void.`);
    };
    const revoke = async () => {
      const text = "The invitation's link stops working, and they join none of its teams.";
      if (!(await ask(["Revoke the invitation of ", name(username), "?"], text, "Revoke", { kind: "danger" }))) return;
      await this.list.answer(unlessGone(send("POST", `${path}/revoke`, undefined, { change: revoking })));
      await this.#left(`The invitation of ${username} is revoked.`);
    };
    return h("span", {}, button(again, resend, { kind: "bare", "aria-label": `${again} the invitation of ${username}` }),
      button("Revoke", revoke, { kind: "bare", "aria-label": `Revoke the invitation of ${username}` }));
  }

  /** @param {Person} person */
  #ofMember({ membershipId, userId, username }) {
    const { organization, account, go } = this.context;
    const act = async (/** @type {{target: HTMLElement}} */ { target: pressed }) => {
      const isSelf = userId === (await account).id;
      const text = ["They leave all teams here at once, and their tokens stop working here. ",
        "What they made stays: see first what they leave behind. ",
        "Team tokens that they have copied still work: make new ones.", isSelf && h("strong", {}, " This is you.")];
      if (!(await ask(["Remove ", name(username), " from ", name(organization), "?"], text, "Remove", { kind: "danger" }))) return;
      try {
        await remove(`/organization-memberships/${membershipId}`);
      } catch (error) {
        if (!(error instanceof Refused && error.has("last_owner"))) throw error;
        return tellLastOwner(pressed);
      }
      if (isSelf) return go("/app");
      await this.#left(`${username} is removed.`);
    };
    return [
      h("a", {
        class: "aside",
        href: `/app/${organization}/leaving?user=${userId}`,
        "aria-label": `Leaving: what ${username} leaves behind`,
      }, "Leaving"),
      button("Remove", act, { kind: "bare", "aria-label": `Remove ${username}` }),
    ];
  }

  /** @param {string} told */
  async #left(told) {
    announce(told);
    await this.list.draw();
    lead(this.element.querySelector("h1"));
  }

  /**
   * Where somebody comes who has found nobody of that name, the form has what they typed.
   * @param {URLSearchParams} query
   */
  begin(query) {
    const addresses = query.get("invite");
    if (this.may && addresses) this.#invite({ addresses, teamId: query.get("team") });
  }

  /** @param {{addresses?: string, teamId?: string | null}} [given] */
  #invite(given = {}) {
    this.place.open((done) => inviteForm({ path: this.path, changed: () => this.list.draw(), done, ...given }));
  }

  /**
   * Until when an invitation can be accepted, and what became of its message.
   * @param {Invitation} invitation
   * @returns {Child[]}
   */
  #stateOf(invitation) {
    if (!invitation) return ["no link yet"];
    const { delivery, "expires-at": ends } = invitation;
    if (this.may && delivery === "none") this.noMail.hidden = false;
    const mark = delivery === "failed" ? [icon("warning"), " "] : [];
    return [...mark, DELIVERIES[delivery], new Date(ends) < new Date() ? ", ended " : ", ends ", time(ends)];
  }

  #nothing() {
    const isInvited = this.status === "invited";
    return h("div", { class: "empty" }, h("h2", {}, isInvited ? "No open invitations" : "Nobody is here yet"),
      h("p", {}, this.may ? "Invite people by e-mail address, several at once, and choose their teams."
        : "Owners invite people."));
  }
}

/** @param {string} status */
function nounOf(status) {
  return status === "invited" ? "invitation" : "member";
}
