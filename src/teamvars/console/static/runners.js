/** Runners of an organization: who may be handed values, what has to be approved, and what was handed out. */

import { Change, read, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { addButton, announce, button, copyButton, count, h, listed, name, time } from "./dom.js";
import { FormPlace } from "./fields.js";
import { lead } from "./hands.js";
import { organizationHead, readOrganization } from "./heads.js";
import { PagedList } from "./paged_list.js";
import { runnerForm } from "./runner_form.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { End } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {Api.RunnerResource} Runner */

const LONG_AGO_MS = 90 * 86_400_000;
/** @type {Record<Api.RunnerStatus, string>} */
const STATUSES = {
  proposed: "waits for approval", approved: "approved", changed: "a change waits for approval", expired: "expired",
};
/** @type {Partial<Record<Api.Since, string>>} */
const GONE = { revoked: "revoked", deleted: "deleted" };

/**
 * What owners see of all runners, and of the last delivery of each workspace to each of them.
 * @param {Context} context
 */
export async function runnersPage(context) {
  const path = `/organizations/${encodeURIComponent(context.organization)}`;
  const found = await readOrganization(context);
  const page = new RunnersPage(context, path, found);
  await page.draw();
  return page.element;
}

class RunnersPage {
  /**
   * @param {Context} context
   * @param {string} path
   * @param {Api.OrganizationResource} organization
   */
  constructor(context, path, organization) {
    this.context = context;
    this.path = path;
    const { signal } = context;
    this.place = new FormPlace();
    /** @type {PagedList<Runner>} */
    this.list = new PagedList({
      path: () => `${path}/runners`, row: (one) => this.#row(one), noun: "runner", nothing, signal,
    });
    /** @type {PagedList<Api.ReceiptResource>} */
    this.deliveries = new PagedList({
      path: () => `${path}/deliveries`, row: (one) => deliveryRow(context, one), noun: "delivery",
      all: "(the last of each workspace to each runner)", signal,
      nothing: () => h("p", { class: "hint" }, "Nothing was handed out yet."),
    });
    const propose = addButton("Propose a runner", () => this.place.open((end) => this.#form(null, end)));
    this.element = h("section", {}, organizationHead(organization, "runners"),
      h("div", { class: "toolbar" },
        h("p", { class: "lead" }, "A runner is a job that may be handed values, once its version is approved."),
        h("div", { class: "actions" }, propose)),
      this.place.element, this.list.element,
      h("h2", { class: "part" }, "Deliveries"), this.deliveries.element);
  }

  /** Shows what is there now. */
  async draw() {
    await Promise.all([this.list.draw(), this.deliveries.draw()]);
  }

  /** @param {Runner} one */
  #row(one) {
    const { attributes } = one;
    const called = attributes.name;
    return h("li", { class: "row" },
      runnerText(one),
      h("span", { class: "aside" }, attributes.status === "expired" ? "ended " : "ends ", time(attributes["expired-at"])),
      h("span", {},
        attributes["approved-version"] !== null
          && button("Revoke", () => this.#revoke(one), { kind: "bare", "aria-label": `Revoke the approval of ${called}` }),
        button("Change", () => this.place.open((end) => this.#form(one, end)), { kind: "bare", "aria-label": `Change ${called}` }),
        button("Delete", () => this.#delete(one), { kind: "bare", "aria-label": `Delete ${called}` })),
      attributes["may-approve"] ? this.#toApprove(one) : approval(one));
  }

  /** @param {Runner} one */
  #toApprove(one) {
    const { name: called } = one.attributes;
    return h("div", { class: "notice made" }, "You may approve it. ",
      button("Approve", () => this.#approve(one), { kind: "primary", "aria-label": `Approve ${called}` }));
  }

  /**
   * Approves the version that the row shows, and no other: the digest names it.
   * @param {Runner} runner
   */
  async #approve({ id, attributes: { name: called, digest } }) {
    const text = "Its jobs are handed the values of these workspaces, and what is put into them later. "
      + "Whoever can change what runs in such a job gets the values.";
    if (!(await ask(["Approve ", name(called), " as it is shown?"], text, "Approve"))) return;
    await this.list.answer(send("POST", `/runners/${id}/actions/approve`, { data: { type: "runners", id, attributes: { digest } } },
      { change: new Change() }));
    await this.#acted("The runner is approved.");
  }

  /** @param {Runner} runner */
  async #revoke({ id, attributes }) {
    const text = "Nothing is handed to it until it is approved again. What it was handed before stays with its jobs: rotate that.";
    if (!(await ask(["Take the approval of ", name(attributes.name), " back?"], text, "Revoke", { kind: "danger" }))) return;
    await this.list.answer(send("POST", `/runners/${id}/actions/revoke`, null, { change: new Change() }));
    await this.#acted("The approval is taken back.");
  }

  /**
   * @param {Runner | null} runner
   * @param {End} end
   */
  #form(runner, end) {
    const change = new Change();
    return runnerForm({
      path: this.path, runner, signal: this.context.signal, cancel: () => end(),
      save: async (data, called, signal) => {
        if (runner) {
          const document = { data: { ...data, id: runner.id } };
          await this.list.answer(send("PATCH", `/runners/${runner.id}`, document, { change, signal }));
        } else await send("POST", `${this.path}/runners`, { data }, { change, signal });
        end(["Somebody has to approve ", name(called), " before it is handed anything more."]);
        this.draw();
      },
    });
  }

  /** @param {Runner} runner */
  async #delete({ id, attributes }) {
    const text = "Nothing is handed to it from then on. What it was handed before stays with its jobs: rotate that.";
    if (!(await ask(["Delete ", name(attributes.name), "?"], text, "Delete", { kind: "danger" }))) return;
    await remove(`/runners/${id}`);
    await this.#acted("The runner is deleted.");
  }

  /**
   * Says what was done, and shows what is there now.
   * @param {string} said
   */
  async #acted(said) {
    announce(said);
    lead(this.element.querySelector("h1")); // what had the focus is gone
    await this.draw();
  }
}

/**
 * Its name, where it stands, and who it is.
 * @param {Runner} runner
 */
export function runnerText({ attributes, relationships }) {
  const { status, "workspace-patterns": patterns = [], "include-sensitive": all, "allow-unbound": unbound } = attributes;
  const named = relationships.workspaces.data.length;
  const reach = [named > 0 && count(named, "workspace"), ...patterns.map((one) => h("span", { class: "code" }, one))];
  return h("span", { class: "name" }, name(attributes.name), " ",
    h("span", { class: "badge" }, STATUSES[status]), " ",
    unbound && h("span", { class: "badge" }, "unbound"), " ",
    !all && h("span", { class: "badge" }, "nothing sensitive"),
    h("span", { class: "description" }, proof(attributes)),
    h("span", { class: "description" }, listed(reach.filter((one) => one !== false))),
    attributes.description && h("span", { class: "description" }, name(attributes.description)));
}

/**
 * @param {Api.RunnerAttributes} attributes
 * @returns {Child}
 */
function proof({ issuer, conditions, "public-key": key }) {
  if (key) return ["the machine with the key ", h("span", { class: "code" }, key)];
  const said = Object.entries(conditions).map(([claim, wanted]) =>
    h("span", { class: "code" }, name(`${claim} = ${wanted}`)));
  return [name(issuer ?? ""), ": ", listed(said)];
}

/**
 * What an operator types who has looked at it.
 * @param {Runner} runner
 */
function approval({ id, attributes: { status, digest } }) {
  if (status !== "proposed" && status !== "changed") return false;
  const command = `teamvars approvals approve ${id}@${digest}`;
  const shown = h("code", {}, command);
  return h("div", { class: "notice made" },
    "It waits until an operator has looked at it and types, on the service's host: ", shown,
    copyButton(command, shown, { kind: "bare", "aria-label": "Copy the command" }));
}

/**
 * The last time that a workspace was handed to a runner.
 * @param {Context} context
 * @param {Api.ReceiptResource} receipt
 */
function deliveryRow({ organization }, { attributes, relationships }) {
  const { "workspace-name": workspace, "runner-name": runner, "runner-status": status } = attributes;
  const where = workspace
    ? h("a", { href: `/app/${organization}/workspaces/${workspace}` }, name(workspace))
    : h("span", { class: "code" }, relationships.workspace.data.id);
  const who = runner ? name(runner) : h("span", { class: "code" }, relationships.runner.data.id);
  return h("li", { class: "row" },
    h("span", { class: "name" }, where, " to ", who, " ", h("span", { class: "changes" }, warnings(attributes, status))),
    handed(attributes));
}

/**
 * How much was handed out, when, and in which run.
 * @param {Api.ReceiptAttributes} attributes
 */
export function handed({ "delivered-at": at, "run-link": run, versions }) {
  return h("span", { class: "aside" }, count(Object.keys(versions).length, "variable"), " ", time(at), runLink(run));
}

/**
 * @param {string | null} run
 * @returns {Child}
 */
function runLink(run) {
  return run !== null && run.startsWith("https://")
    && [", ", h("a", { href: run, target: "_blank", rel: "noopener noreferrer" }, "the run")];
}

/**
 * @param {Api.ReceiptAttributes} attributes
 * @param {Api.Since} status
 */
function warnings({ "delivered-at": at, "to-rotate": rotate }, status) {
  return [
    GONE[status] && h("span", { class: "badge" }, h("span", {}, `the runner was ${GONE[status]} since`,
      rotate.length > 0 && [": rotate ", listed(rotate.map((one) => name(one.key)))])),
    isLongAgo(at) && h("span", { class: "badge" }, "not delivered for 90 days"),
  ];
}

/** @param {string} at */
function isLongAgo(at) {
  return Date.now() - Date.parse(at) > LONG_AGO_MS;
}

/**
 * Which runner was handed a variable last, when and in which run.
 * @param {string} workspaceId
 * @param {string} variableId
 * @param {AbortSignal} [signal]
 * @returns {Promise<Child>}
 */
export async function lastDelivery(workspaceId, variableId, signal) {
  const path = `/workspaces/${workspaceId}/deliveries?filter[variable]=${variableId}&page[size]=100`;
  /** @type {Answer<Api.ReceiptListDocument>} */
  const { document } = await read(path, { signal });
  const found = document.data.map(({ attributes, relationships }) => {
    const said = attributes.earlier[variableId] ?? attributes;
    return { ...attributes, at: said["delivered-at"], run: said["run-link"], id: relationships.runner.data.id };
  });
  if (!found.length) return "No runner was handed it.";
  const last = found.reduce((one, other) => (other.at > one.at ? other : one));
  return ["Last handed to ", name(last["runner-name"] ?? last.id), " ", time(last.at), runLink(last.run), " ",
    isLongAgo(last.at) && h("span", { class: "badge" }, "not delivered for 90 days")];
}

function nothing() {
  return h("div", { class: "empty" }, h("h2", {}, "No runner yet"),
    h("p", {}, "No job is handed anything. Propose the first: which jobs, and which workspaces."));
}
