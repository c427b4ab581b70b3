/** Which teams have access to a project, and so to the variables of every workspace in it. */

import { Change, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { addButton, announce, button, h, name } from "./dom.js";
import { FormPlace, choice, field, form, keepTyped, leaveButton } from "./fields.js";
import { lead } from "./hands.js";
import { projectHead, readProject } from "./heads.js";
import { findNamed, namesOf } from "./named.js";
import { PagedList } from "./paged_list.js";

const AT = "/data/attributes";
const TEAM = "/data/relationships/team/data/id";
const ACCESSES = ["read", "write", "maintain", "admin", "custom"].map((value) => ({ value, label: value }));
const TOLD = {
  read: "Reads the variables of every workspace in it.",
  write: "Reads and writes the variables of every workspace in it.",
  admin: "Reads and writes the variables of every workspace in it, and changes the project's own variable sets.",
};
const LEVELS = { none: "no access", read: "read", write: "read and write" };
const VARIABLES = Object.entries(LEVELS).map(([value, label]) => ({ value, label }));

export async function projectAccessPage(context) {
  const page = new Accesses(context, await readProject(context));
  await page.list.draw();
  return page.element;
}

class Accesses {
  constructor(context, project) {
    this.base = `/organizations/${encodeURIComponent(context.organization)}`;
    this.organization = context.organization;
    this.project = project;
    this.may = project.attributes.permissions["can-manage-teams"];
    this.place = new FormPlace();
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

  #row(grant, included) {
    const { access, "workspace-access": { variables } } = grant.attributes;
    const { id, attributes: { name: called } } = included.find((one) => one.id === grant.relationships.team.data.id);
    return h("li", { class: "row" },
      h("span", { class: "name" }, h("a", { href: `/app/${this.organization}/teams/${id}` }, name(called))),
      h("span", { class: "badge" }, access),
      h("span", { class: "aside may" }, LEVELS[variables]),
      this.may && h("span", {},
        button("Change", () => this.#open({ ...grant, called }), { kind: "bare", "aria-label": `Change the access of ${called}` }),
        button("Remove", () => this.#remove(grant.id, called), { kind: "bare", "aria-label": `Remove the access of ${called}` })));
  }

  #open(grant) {
    this.place.open((end) => this.#form(grant, end));
  }

  #form(grant, end) {
    const change = new Change();
    const { input, names } = namesOf(this.base, "team");
    const { access = "read", "workspace-access": { variables = "read" } = {}, "project-access": { "variable-sets": ofSets = "none" } = {} }
      = grant?.attributes ?? {};
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
      told.textContent = TOLD[level.chosen()] ?? TOLD.write;
    };
    settle();
    const element = form({
      class: "card", "aria-label": grant ? "Change the access" : "Give access",
      onsubmit: async (signal) => {
        const attributes = { access: level.chosen(), ...(level.chosen() === "custom" && {
          "workspace-access": { variables: own.chosen() }, "project-access": { "variable-sets": sets.chosen() } }) };
        const called = grant?.called ?? input.value.trim();
        if (grant) {
          const data = { type: "team-projects", id: grant.id, attributes };
          await send("PATCH", `/team-projects/${grant.id}`, { data }, { change, signal });
        } else {
          const { id } = await findNamed(this.base, "team", called, TEAM, signal);
          const relationships = { team: { data: { type: "teams", id } }, project: { data: { type: "projects", id: this.project.id } } };
          await send("POST", "/team-projects", { data: { type: "team-projects", attributes, relationships } }, { change, signal });
        }
        keepTyped(element, false);
        end([name(called), ": ", level.chosen()]);
        await this.list.draw();
      },
    },
      grant ? h("h2", {}, "The access of ", name(grant.called))
        : [field({ label: "Team", control: input, pointer: TEAM }), names],
      level.element, told, own.element, sets.element,
      h("div", { class: "actions" },
        h("button", { class: "button primary" }, grant ? "Save" : "Give access"), leaveButton(() => end())));
    return element;
  }

  async #remove(id, called) {
    const text = "Its members lose at once what they may do only through it, in every workspace of the project.";
    if (!(await ask(["Remove the access of ", name(called), "?"], text, "Take away", { kind: "danger" }))) return;
    await remove(`/team-projects/${id}`);
    announce(`The access of ${called} is removed.`);
    lead(this.element.querySelector("h1")); // what had the focus is gone
    await this.list.draw();
  }
}

function nothing() {
  return h("div", { class: "empty" }, h("h2", {}, "No team has access to the project yet"),
    h("p", {}, "Owners can give a team access to every workspace in it at once."));
}
