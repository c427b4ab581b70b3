/** Which teams have access to a project, and so to the variables of every workspace in it. */

import { Change, changed, oneOf, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { addButton, announce, button, h, name } from "./dom.js";
import { FormPlace, choice, field, form, keepTyped, leaveButton } from "./fields.js";
import { isLeft, lead } from "./hands.js";
import { LEVELS, projectHead, readProject } from "./heads.js";
import { findNamed, namesOf } from "./named.js";
import { PagedList } from "./paged_list.js";

/** @import { Answer } from "./api.js" */
/** @import { End } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {Api.ProjectAccessType} Access */
/** @typedef {keyof typeof LEVELS} Level */
/** @typedef {{access: Access, variables: Level, sets: Level}} Said */
/** @typedef {Api.TeamProjectResource & {called: string}} Grant */

const AT = "/data/attributes";
const TEAM = "/data/relationships/team/data/id";
/** @type {Access[]} */
const WORDS = ["read", "write", "maintain", "admin", "custom"];
const ACCESSES = WORDS.map((value) => ({ value, label: value }));
const WRITES = "Reads and writes the variables of every workspace in it.";
/** @type {Record<Access, string>} */
const TOLD = {
  read: "Reads the variables of every workspace in it.",
  write: WRITES,
  maintain: WRITES,
  custom: "",
  admin: "Reads and writes the variables of every workspace in it, and changes the project's own variable sets.",
};
const VARIABLES = /** @type {Level[]} */ (Object.keys(LEVELS)).map((value) => ({ value, label: LEVELS[value] }));

/** @param {Context} context */
export async function projectAccessPage(context) {
  const page = new Accesses(context, await readProject(context));
  await page.list.draw();
  return page.element;
}

class Accesses {
  /**
   * @param {Context} context
   * @param {Api.ProjectResource} project
   */
  constructor(context, project) {
    this.base = `/organizations/${encodeURIComponent(context.organization)}`;
    this.organization = context.organization;
    this.project = project;
    this.may = project.attributes.permissions["can-manage-teams"];
    this.place = new FormPlace();
    /** @type {PagedList<Api.TeamProjectResource, Api.IncludedTeam | Api.IncludedProject>} */
    this.list = new PagedList({
      path: () => `/team-projects?filter[project][id]=${project.id}&include=team`,
      row: (one, included) => this.#row(one, included), noun: "team", nothing, signal: context.signal,
    });
    this.element = h("section", {}, projectHead(context, project, "access"),
      h("div", { class: "toolbar" },
        h("p", { class: "lead" }, "What teams may do in every workspace of the project, also in those that come later."),
        this.may && h("div", { class: "actions" }, addButton("Give access", () => this.#open(null)))),
      this.place.element, this.list.element);
  }

  /**
   * @param {Api.TeamProjectResource} grant
   * @param {(Api.IncludedTeam | Api.IncludedProject)[]} included
   */
  #row(grant, included) {
    const { access, "workspace-access": { variables } } = grant.attributes;
    const { id } = grant.relationships.team.data;
    const called = oneOf(included, "teams", id)?.attributes.name ?? id;
    return h("li", { class: "row" },
      h("span", { class: "name" }, h("a", { href: `/app/${this.organization}/teams/${id}` }, name(called))),
      h("span", { class: "badge" }, access),
      h("span", { class: "aside may" }, LEVELS[variables]),
      this.may && h("span", {},
        button("Change", () => this.#open({ ...grant, called }), { kind: "bare", "aria-label": `Change the access of ${called}` }),
        button("Remove", () => this.#remove(grant.id, called), { kind: "bare", "aria-label": `Remove the access of ${called}` })));
  }

  /** @param {Grant | null} grant */
  #open(grant) {
    this.place.open((end) => this.#form(grant, end));
  }

  /**
   * @param {Grant | null} grant
   * @param {End} end
   */
  #form(grant, end) {
    const change = new Change();
    const { input, names } = namesOf(this.base, "team");
    const start = saidOf(grant?.attributes);
    const { access, variables, sets: ofSets } = start;
    const level = choice({ legend: "Access", options: ACCESSES, chosen: access, pointer: `${AT}/access`, onchange: () => settle() });
    const own = choice({ legend: "Variables of its workspaces", options: VARIABLES, chosen: variables,
      pointer: `${AT}/workspace-access/variables` });
    const sets = choice({ legend: "The project's own variable sets", options: VARIABLES, chosen: ofSets,
      pointer: `${AT}/project-access/variable-sets` });
    const told = h("p", { class: "hint" });
    const settle = () => {
      const isCustom = level.chosen() === "custom";
      own.element.hidden = sets.element.hidden = !isCustom;
      told.hidden = isCustom;
      told.textContent = TOLD[level.chosen()];
    };
    settle();
    const element = form({
      class: "card", "aria-label": grant ? "Change the access" : "Give access",
      onsubmit: async (signal) => {
        const attributes = attributesOf({ access: level.chosen(), variables: own.chosen(), sets: sets.chosen() });
        const called = grant?.called ?? input.value.trim();
        let given = attributes.access;
        if (grant) {
          // Others may have changed the rest.
          const data = { type: "team-projects", id: grant.id, attributes: changed(attributesOf(start), attributes) };
          /** @type {Answer<Api.TeamProjectDocument>} */
          const { document } = await this.list.answer(send("PATCH", `/team-projects/${grant.id}`, { data }, { change, signal }));
          given = document.data.attributes.access;
        } else {
          const { id } = await findNamed(this.base, "team", called, TEAM, signal);
          if (isLeft(element)) return; // whoever has left it meanwhile gives nothing
          const relationships = { team: { data: { type: "teams", id } }, project: { data: { type: "projects", id: this.project.id } } };
          await send("POST", "/team-projects", { data: { type: "team-projects", attributes, relationships } }, { change, signal });
        }
        keepTyped(element, false);
        end([name(called), ": ", given]);
        this.list.draw();
      },
    },
      grant ? h("h2", {}, "The access of ", name(grant.called))
        : [field({ label: "Team", control: input, pointer: TEAM }), names],
      level.element, told, own.element, sets.element,
      h("div", { class: "actions" },
        h("button", { class: "button primary" }, grant ? "Save" : "Give access"), leaveButton(() => end())));
    return element;
  }

  /**
   * @param {string} id
   * @param {string} called
   */
  async #remove(id, called) {
    const text = "Its members lose at once what they may do only through it, in every workspace of the project.";
    if (!(await ask(["Remove the access of ", name(called), "?"], text, "Take away", { kind: "danger" }))) return;
    await remove(`/team-projects/${id}`);
    announce(`The access of ${called} is removed.`);
    lead(this.element.querySelector("h1")); // what had the focus is gone
    await this.list.draw();
  }
}

/**
 * What a team may do, or, where nothing is said yet, what is chosen first.
 * @param {Api.TeamProjectAttributes} [attributes]
 * @returns {Said}
 */
function saidOf(attributes) {
  if (!attributes) return { access: "read", variables: "read", sets: "none" };
  return { access: attributes.access, variables: attributes["workspace-access"].variables,
    sets: attributes["project-access"]["variable-sets"] };
}

/**
 * As a document has it.
 * @param {Said} said
 */
function attributesOf({ access, variables, sets }) {
  const custom = { "workspace-access": { variables }, "project-access": { "variable-sets": sets } };
  return { access, ...(access === "custom" && custom) };
}

function nothing() {
  return h("div", { class: "empty" }, h("h2", {}, "No team has access to the project yet"),
    h("p", {}, "Owners can give a team access to every workspace in it at once."));
}
