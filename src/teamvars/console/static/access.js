/** Access: the teams that have some to a workspace, and whom that lets in; the workspaces that a team has some to. */

import { Change, loaded, newest, oneOf, readAll, readPage, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { announce, button, h, listed, name } from "./dom.js";
import { choice, field, form } from "./fields.js";
import { isLeft, lead, stay } from "./hands.js";
import { LEVELS, isOwners, readTeam, readWorkspace, teamHead, workspaceHead } from "./heads.js";
import { findNamed, namesOf } from "./named.js";
import { PagedList, searchField } from "./paged_list.js";
import { address } from "./pages.js";
import { folded } from "./people.js";
import { redraw } from "./redraw.js";

/** @import { Answer, Page } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */

/** @typedef {"team" | "workspace"} Side */
/** @typedef {Api.IncludedTeam | Api.IncludedWorkspace} Included */

/** @type {{value: "read" | "write", label: string}[]} */
const OPTIONS = [{ value: "read", label: LEVELS.read }, { value: "write", label: LEVELS.write }];
/** @type {Partial<Record<Api.WorkspaceAccessAttributes["kind"], string>>} */
const KINDS = { "team-token": "token of the team", "organization-token": "token of the organization" };
const MOST_NAMES = 5;

/**
 * What a grant is seen from, and what it leads to.
 * @type {Record<Side, {other: Side, path: (id: string) => string, href: (id: string, called: string) => string, nothing: string[]}>}
 */
const SIDES = {
  workspace: {
    other: "team",
    path: (id) => `/team-workspaces?filter[workspace][id]=${id}&include=team`,
    href: (id) => `/teams/${id}`,
    nothing: ["No team has access yet", "Only owners see this workspace. Give a team access, and its members see it too."],
  },
  team: {
    other: "workspace",
    path: (id) => `/teams/${id}/team-workspaces?include=workspace`,
    href: (_, called) => `/workspaces/${called}`,
    nothing: ["No workspace yet", "The team's members see no workspace through it. Owners can give it access."],
  },
};

/**
 * The teams with a grant on a workspace, the runners that reach it; for owners also everybody whom that lets in.
 * @param {Context} context
 */
export async function workspaceAccessPage(context) {
  const { organization, signal } = context;
  const { found, owns } = await readWorkspace(context);
  const holders = owns && new Holders(organization, found.id, signal);
  const grants = new Grants({ organization, side: "workspace", id: found.id, may: owns, signal,
    changed: async () => holders && holders.draw() });
  const { runnerText } = await loaded(import("./runners.js"));
  /** @type {PagedList<Api.RunnerResource>} */
  const runners = new PagedList({
    path: () => `/workspaces/${found.id}/runners`, row: (one) => h("li", { class: "row" }, runnerText(one)),
    noun: "runner", nothing: () => h("p", { class: "hint" }, "No job is handed its values."), signal,
  });
  await Promise.all([grants.list.draw(), runners.draw(), holders && holders.draw()]);
  return h("section", {}, workspaceHead(context, found, "access"),
    h("h2", { class: "part" }, "Teams"), grants.element,
    holders && [h("h2", { class: "part" }, "Who has access"), holders.element],
    h("h2", { class: "part" }, "Runners"), runners.element);
}

/** Everybody and everything with access, by name: whoever looks for one person does not know their id. */
class Holders {
  #asks = newest();
  /** @type {Api.WorkspaceAccessResource[]} */
  all = [];

  /**
   * @param {string} organization
   * @param {string} workspaceId
   * @param {AbortSignal} signal
   */
  constructor(organization, workspaceId, signal) {
    this.organization = organization;
    this.path = `/workspaces/${workspaceId}/access`;
    this.signal = signal;
    this.words = folded(address.said("who"));
    this.lead = h("p", { class: "lead", role: "status" });
    this.rows = h("ul", { class: "rows", role: "list" });
    const filter = searchField("Filter by name", (words) => {
      this.words = folded(words);
      this.#show();
    }, "who");
    this.element = h("div", {}, filter, this.lead, this.rows);
  }

  /** Shows those who have it now. */
  async draw() {
    const isNewest = this.#asks();
    /** @type {Api.WorkspaceAccessResource[]} */
    const found = await readAll(this.path, { signal: this.signal });
    if (!isNewest()) return;
    const order = new Intl.Collator("en").compare;
    this.all = found.sort((a, b) => order(a.attributes.name, b.attributes.name));
    this.#show();
  }

  #show() {
    const shown = this.all.filter(({ attributes }) => folded(attributes.name).includes(this.words));
    const told = this.words ? "found" : shown.length === 1 ? "has access" : "have access";
    this.lead.textContent = `${shown.length.toLocaleString("en")} ${told}`;
    redraw(this.rows, shown.map((one) => ({ key: one.id, seen: JSON.stringify(one), make: () => holder(this.organization, one) })));
  }
}

/**
 * @param {string} organization
 * @param {Api.WorkspaceAccessResource} one
 */
function holder(organization, { attributes: { kind, name: called, access, through }, relationships }) {
  const ids = relationships.teams.data.map((one) => one.id);
  const ways = through.map(({ team, access: level }, at) => [
    h("a", { href: `/app/${organization}/teams/${ids[at]}` }, name(team)), level !== access && ` (${LEVELS[level]})`]);
  return h("li", { class: "row" },
    h("span", { class: "name" }, name(called)),
    KINDS[kind] && h("span", { class: "badge" }, KINDS[kind]),
    kind === "user" && h("span", { class: "aside" }, "through ", listed(ways)),
    h("span", { class: "aside may" }, LEVELS[access]));
}

/**
 * The workspaces that a team has a grant on, as far as one may read them.
 * @param {Context} context
 */
export async function teamWorkspacesPage(context) {
  const team = await readTeam(context);
  const head = teamHead(context, team, "workspaces");
  if (isOwners(team)) {
    return h("section", {}, head, h("p", { class: "notice" }, "Owners may do everything in every workspace, without a grant."));
  }
  const { organization, signal } = context;
  const may = team.attributes.permissions["can-update-organization-access"]; // owners alone give access, of any kind
  const grants = new Grants({ organization, side: "team", id: team.id, may, signal });
  /** @type {PagedList<Api.TeamProjectResource, Api.IncludedTeam | Api.IncludedProject>} */
  const projects = new PagedList({
    path: () => `/team-projects?filter[team][id]=${team.id}&include=project`,
    row: (one, included) => projectRow(organization, one, included), noun: "project", signal,
    nothing: () => h("p", { class: "hint" }, "It has access to no project, and so to nothing by one."),
  });
  await Promise.all([grants.list.draw(), projects.draw()]);
  return h("section", {}, head,
    h("h2", { class: "part" }, "Workspaces"), grants.element,
    h("h2", { class: "part" }, "Projects, and every workspace in them"), projects.element);
}

/**
 * A project that a team has access to, which is changed where the project says who has.
 * @param {string} organization
 * @param {Api.TeamProjectResource} grant
 * @param {(Api.IncludedTeam | Api.IncludedProject)[]} included
 */
function projectRow(organization, { attributes, relationships }, included) {
  const { id } = relationships.project.data;
  const level = attributes["workspace-access"].variables;
  return h("li", { class: "row" },
    h("span", { class: "name" }, h("a", { href: `/app/${organization}/projects/${id}/access` },
      name(oneOf(included, "projects", id)?.attributes.name ?? id))),
    attributes.access !== level && h("span", { class: "badge" }, attributes.access),
    h("span", { class: "aside may" }, LEVELS[level]));
}

/** The list, and above it a form for whoever `may` give access. */
class Grants {
  /**
   * @param {{organization: string, side: Side, id: string, may: boolean, signal: AbortSignal,
   *   changed?: () => Promise<unknown>}} said `id` is that of the side; `changed` is called after each change
   */
  constructor(said) {
    const { organization, side, id, may, signal, changed = async () => {} } = said;
    this.organization = organization;
    this.side = side;
    this.from = SIDES[side];
    this.id = id;
    this.may = may;
    this.signal = signal;
    this.changed = changed;
    const { other, path, nothing } = this.from;
    /** @type {PagedList<Api.TeamWorkspaceResource, Included>} */
    this.list = new PagedList({
      path: () => path(this.id), row: (one, included) => this.#row(one, included), noun: other, signal: this.signal,
      nothing: () => h("div", { class: "empty" }, h("h2", {}, nothing[0]), h("p", {}, nothing[1])),
    });
    this.element = h("div", {}, this.may && this.#form(), this.list.element);
  }

  /**
   * @param {Api.TeamWorkspaceResource} grant
   * @param {Included[]} included
   */
  #row({ id, attributes: { access, variables }, relationships }, included) {
    const other = relationships[this.from.other].data.id;
    const called = oneOf(included, `${this.from.other}s`, other)?.attributes.name ?? other;
    const href = `/app/${this.organization}${this.from.href(other, called)}`;
    const row = h("li", { class: "row" },
      h("span", { class: "name" }, h("a", { href }, name(called))),
      access !== variables && h("span", { class: "badge" }, access),
      h("span", { class: "aside may" }, LEVELS[variables]));
    if (!this.may) return row;
    const change = new Change();
    const acts = OPTIONS.filter((one) => one.value !== variables).map(({ value, label }) =>
      button(`Change to ${label}`, async () => {
        const data = { type: "team-workspaces", id, attributes: { access: value } };
        /** @type {Answer<Api.TeamWorkspaceDocument>} */
        const { document } = await this.list.answer(send("PATCH", `/team-workspaces/${id}`, { data }, { change }));
        lead(this.list.put(document.data, included)?.querySelector("button"));
        announce(`${called}: ${label}`);
        await this.changed();
      }, { kind: "bare", "aria-label": `Change to ${label}: ${called}` }));
    row.append(h("span", {}, acts, button("Remove", () => this.#remove(id, relationships, called),
      { kind: "bare", "aria-label": `Remove the access of ${called}` })));
    return row;
  }

  /**
   * @param {string} id
   * @param {Api.TeamWorkspaceRelationships} relationships
   * @param {string} called
   */
  async #remove(id, { team, workspace }, called) {
    const isStill = stay();
    const text = await losses(workspace.data.id, team.data.id, this.signal);
    if (!isStill()) return;
    const title = this.side === "workspace" ? ["Remove access from ", name(called), "?"] : ["Remove access to ", name(called), "?"];
    if (!(await ask(title, text, "Take away", { kind: "danger" }))) return;
    await remove(`/team-workspaces/${id}`);
    announce(`The access of ${called} is removed.`);
    await Promise.all([this.list.draw(), this.changed()]);
    lead(this.input);
  }

  #form() {
    const { other } = this.from;
    const base = `/organizations/${encodeURIComponent(this.organization)}`;
    const pointer = `/data/relationships/${other}/data/id`;
    const change = new Change();
    const { input, names } = namesOf(base, other);
    this.input = input;
    const level = choice({ legend: "May", options: OPTIONS, chosen: "read", pointer: "/data/attributes/access" });
    return form({
      class: "narrowing granting", isMissed: false, "aria-label": "Give access",
      busy: "Giving …", onsubmit: async (signal) => {
        const { type, id } = await findNamed(base, other, input.value.trim(), pointer, signal);
        if (isLeft(this.element)) return; // whoever has left it meanwhile gives nothing
        const own = { data: { type: `${this.side}s`, id: this.id } };
        const data = { type: "team-workspaces", attributes: { access: level.chosen() },
          relationships: { [this.side]: own, [other]: { data: { type, id } } } };
        await send("POST", "/team-workspaces", { data }, { change, signal });
        announce(`${input.value.trim()}: ${LEVELS[level.chosen()]}`);
        input.value = "";
        await Promise.all([this.list.draw(), this.changed()]);
        lead(input);
      },
    },
      field({ label: other === "team" ? "Team" : "Workspace", control: input, pointer }), names, level.element,
      h("button", { class: "button primary" }, "Give access"));
  }
}

/**
 * In words: who has no access any more once a team has none.
 * @param {string} workspaceId
 * @param {string} teamId
 * @param {AbortSignal} signal
 * @returns {Promise<Child>}
 */
async function losses(workspaceId, teamId, signal) {
  /** @type {Page<Api.WorkspaceAccessResource, never>} */
  const { items, next } = await readPage(`/workspaces/${workspaceId}/access`, 1, { signal });
  if (next) return "People who have access only through it lose it at once.";
  const alone = items.filter(({ relationships: { teams: { data } } }) => data.length === 1 && data[0].id === teamId);
  const losing = alone.map(({ attributes: { kind, name: called } }) =>
    [kind === "team-token" && "the token of ", name(called)]);
  if (!losing.length) return "Nobody loses all access: everybody with access through it also has another way.";
  const more = losing.length - MOST_NAMES;
  return [listed(losing.slice(0, MOST_NAMES)), more > 0 && ` and ${more} more`,
    losing.length === 1 ? " loses" : " lose", " access at once."];
}
