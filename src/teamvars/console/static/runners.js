/** Runners of an organization: who may be handed values, and what an operator has to approve. */

import { Change, read, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { announce, button, count, h, listed, name, time } from "./dom.js";
import { FormPlace } from "./fields.js";
import { organizationHead } from "./heads.js";
import { PagedList } from "./paged_list.js";
import { runnerForm } from "./runner_form.js";

const STATUSES = {
  proposed: "waits for approval", approved: "approved", changed: "a change waits for approval", expired: "expired",
};

/** What owners see of all runners. */
export async function runnersPage(context) {
  const { organization, signal } = context;
  const path = `/organizations/${encodeURIComponent(organization)}`;
  const found = (await read(path, { signal })).document.data;
  const page = new RunnersPage(context, path, found);
  await page.list.draw();
  return page.element;
}

class RunnersPage {
  constructor(context, path, organization) {
    Object.assign(this, { context, path });
    const { signal } = context;
    this.place = new FormPlace();
    this.list = new PagedList({
      path: () => `${path}/runners`, row: (one) => this.#row(one), noun: "runner", nothing, signal,
    });
    const propose = button("Propose a runner", () => this.place.open((end) => this.#form(null, end)),
      { kind: "primary", picture: "add" });
    this.element = h("section", {}, organizationHead(organization, "runners"),
      h("div", { class: "toolbar" },
        h("p", { class: "lead" }, "A runner is a job that may be handed values, once its version is approved."),
        h("div", { class: "actions" }, propose)),
      this.place.element, this.list.element);
  }

  #row(one) {
    const { attributes } = one;
    const called = attributes.name;
    return h("li", { class: "row" },
      runnerText(one),
      h("span", { class: "aside" }, attributes.status === "expired" ? "ended " : "ends ", time(attributes["expired-at"])),
      h("span", {},
        button("Change", () => this.place.open((end) => this.#form(one, end)), { kind: "bare", "aria-label": `Change ${called}` }),
        button("Delete", () => this.#delete(one), { kind: "bare", "aria-label": `Delete ${called}` })),
      approval(one));
  }

  #form(runner, end) {
    const change = new Change();
    return runnerForm({
      path: this.path, runner, signal: this.context.signal, cancel: () => end(),
      save: async (data) => {
        if (runner) await send("PATCH", `/runners/${runner.id}`, { data: { ...data, id: runner.id } }, { change });
        else await send("POST", `${this.path}/runners`, { data }, { change });
        end(["Somebody has to approve ", name(data.attributes.name), " before it is handed anything more."]);
        await this.list.draw();
      },
    });
  }

  async #delete({ id, attributes }) {
    const text = "Nothing is handed to it from then on. What it was handed before stays with its jobs: rotate that.";
    if (!(await ask(["Delete ", name(attributes.name), "?"], text, "Delete", { kind: "danger" }))) return;
    await remove(`/runners/${id}`);
    announce("The runner is deleted.");
    this.element.querySelector("h1").focus(); // what had the focus is gone
    await this.list.draw();
  }
}

/** Its name, where it stands, and who it is. */
export function runnerText({ attributes, relationships }) {
  const { status, "workspace-patterns": patterns = [], "include-sensitive": all, "allow-unbound": unbound } = attributes;
  const named = relationships.workspaces.data.length;
  const reach = [named > 0 && count(named, "workspace"), ...patterns.map((one) => h("span", { class: "code" }, one))];
  return h("span", { class: "name" }, name(attributes.name), " ",
    h("span", { class: "badge" }, STATUSES[status]), " ",
    unbound && h("span", { class: "badge" }, "unbound"), " ",
    !all && h("span", { class: "badge" }, "nothing sensitive"),
    h("span", { class: "description" }, proof(attributes)),
    h("span", { class: "description" }, listed(reach.filter(Boolean))),
    attributes.description && h("span", { class: "description" }, name(attributes.description)));
}

function proof({ issuer, conditions, "public-key": key }) {
  if (key) return ["the machine with the key ", h("span", { class: "code" }, key)];
  const said = Object.entries(conditions).map(([claim, wanted]) =>
    h("span", { class: "code" }, name(`${claim} = ${wanted}`)));
  return [name(issuer), ": ", listed(said)];
}

/** What an operator types who has looked at it. */
function approval({ id, attributes: { status, digest } }) {
  if (status !== "proposed" && status !== "changed") return false;
  const command = `teamvars approvals approve ${id}@${digest}`;
  const copy = navigator.clipboard && button("Copy", async () => {
    await navigator.clipboard.writeText(command);
    announce("Copied.");
  }, { picture: "copy", kind: "bare", "aria-label": "Copy the command" });
  return h("div", { class: "notice made" },
    "On the service's host, once it is looked at: ", h("code", {}, command), copy);
}

function nothing() {
  return h("div", { class: "empty" }, h("h2", {}, "No runner yet"),
    h("p", {}, "No job is handed anything. Propose the first: which jobs, and which workspaces."));
}
