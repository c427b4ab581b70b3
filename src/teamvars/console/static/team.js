/** The page of a team: its members. */

import { addMembersForm } from "./add_members.js";
import { Refused, newest, readPage, send } from "./api.js";
import { deleteDialog } from "./delete_dialog.js";
import { ask } from "./dialogs.js";
import { addButton, announce, button, h, name } from "./dom.js";
import { FormPlace } from "./fields.js";
import { lead } from "./hands.js";
import { isOwners, readTeam, teamHead } from "./heads.js";
import { PagedList } from "./paged_list.js";
import { lastOwner, personOf, tellLastOwner } from "./people.js";
import { teamForm } from "./teams.js";

/** @import { End } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @import { Included, Person } from "./people.js" */

/** @param {Context} context */
export async function teamPage(context) {
  const page = new TeamPage(context, await readTeam(context));
  await page.draw();
  return page.element;
}

class TeamPage {
  #asks = newest();
  active = 0;

  /**
   * @param {Context} context
   * @param {Api.TeamResource} team
   */
  constructor(context, team) {
    const { id, attributes } = team;
    this.context = context;
    this.team = team;
    this.may = attributes.permissions;
    this.isOwners = isOwners(team);
    this.path = `/teams/${id}/relationships/organization-memberships`;
    this.place = new FormPlace();
    /** @type {PagedList<Api.MembershipResource, Included>} */
    this.list = new PagedList({
      path: (words) => `${this.path}?include=user&sort=username${words && `&q=${encodeURIComponent(words)}`}`,
      row: (one, included) => this.#row(personOf(one, included)), noun: "member",
      none: "No member has this in their name or address.", nothing: () => this.#nothing(),
      state: () => this.active === 1, filter: "Filter by name or address", signal: context.signal,
    });
    this.element = h("section", {}, teamHead(context, team, "members"), this.#toolbar(), this.place.element, this.list.element);
  }

  /** Shows who is in it now. */
  async draw() {
    const isNewest = this.#asks();
    if (this.isOwners) {
      const { total } = await readPage(`${this.path}?filter[status]=active`, 1);
      if (!isNewest()) return;
      this.active = total;
    }
    await this.list.draw();
  }

  #toolbar() {
    const { may } = this;
    return h("div", { class: "toolbar" },
      this.list.filter,
      h("div", { class: "actions" },
        may["can-destroy"] && button("Delete team", () => this.#delete(), { picture: "remove" }),
        may["can-update-visibility"] && button("Change team", () => this.place.open((end) => this.#teamForm(end)), { picture: "edit" }),
        may["can-update-membership"]
          && addButton("Add members", () => this.place.open((end) => this.#addForm(end)))));
  }

  /** @param {Person} person */
  #row(person) {
    const { username, email, isInvited } = person;
    const row = h("li", { class: "row" },
      h("span", { class: "name" }, name(username)),
      isInvited && h("span", { class: "badge" }, "invited"),
      email && email !== username && h("span", { class: "aside" }, name(email)));
    if (!this.may["can-update-membership"]) return row;
    const isLast = this.isOwners && this.active === 1 && !isInvited;
    row.append(isLast ? lastOwner() : button("Remove", (event) => this.#remove(person, event.target),
      { kind: "bare", "aria-label": `Remove ${username}` }));
    return row;
  }

  /**
   * What it is called, and what one may do, may be another once it is changed.
   * @param {End} end
   */
  #teamForm(end) {
    const { context: { go }, team } = this;
    return teamForm({ path: `/teams/${team.id}`, team, cancel: () => end(), done: () => go(location.pathname, { replace: true }) });
  }

  /** @param {End} end */
  #addForm(end) {
    const { organization } = this.context;
    return addMembersForm({ organization, team: this.team, path: this.path, cancel: () => end(),
      done: async (told) => {
        end(told);
        await this.draw();
      } });
  }

  /**
   * @param {Person} person
   * @param {HTMLElement} pressed
   */
  async #remove({ membershipId, userId, username }, pressed) {
    const isSelf = userId === (await this.context.account).id;
    const { organization } = this.context;
    const text = [`They lose at once what they may do only through this team. They stay in `, name(organization),
      " and in their other teams.", isSelf && h("strong", {}, " This is you.")];
    const title = ["Remove ", name(username), " from ", name(this.team.attributes.name), "?"];
    if (!(await ask(title, text, "Remove", { kind: "danger" }))) return;
    const document = { data: [{ type: "organization-memberships", id: membershipId }] };
    try {
      await send("DELETE", this.path, document, { repeats: true });
    } catch (error) {
      if (!(error instanceof Refused && error.has("last_owner"))) throw error;
      return tellLastOwner(pressed);
    }
    announce(`${username} is removed.`);
    if (isSelf) return this.context.go(`/app/${organization}/teams`);
    lead(this.element.querySelector("h1")); // what had the focus is gone
    await this.draw();
  }

  #delete() {
    const { organization, go } = this.context;
    deleteDialog({
      title: "Delete this team?", what: "name", word: this.team.attributes.name, path: `/teams/${this.team.id}`,
      text: "Its members stay in the organization. Its grants and its token are deleted for ever: ",
    }, () => go(`/app/${organization}/teams`));
  }

  #nothing() {
    return h("div", { class: "empty" }, h("h2", {}, "Nobody is in this team yet"),
      h("p", {}, this.may["can-update-membership"]
        ? "Add the first ones: several at once, by name or e-mail address."
        : "Owners can add people, and so can teams that manage members."));
  }
}
