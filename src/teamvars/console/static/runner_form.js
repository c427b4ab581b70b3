/** The form of a runner: who the job is, which workspaces it reaches, and until when. */

import { Refused, changed, read } from "./api.js";
import { beginOf, h } from "./dom.js";
import { choice, field, form, keepTyped, leaveButton, tick } from "./fields.js";
import { isLeft } from "./hands.js";
import { findWorkspaces } from "./named.js";

/** @import { Answer } from "./api.js" */
/** @typedef {{type: "runners", attributes: Partial<Api.RunnerAttributes>, relationships?: object}} Proposal */

const AT = "/data/attributes";
const WORKSPACES = "/data/relationships/workspaces/data";
const DAY_MS = 86_400_000;
const DAYS = 89;
/** @type {{value: "issuer" | "key", label: string}[]} */
const PROOFS = [{ value: "issuer", label: "Its issuer says so" }, { value: "key", label: "It has a key of its own" }];

/**
 * The form. `runner` is null for a new one; `save(data, called)` proposes what the form says, of one that is there what is
 * another than it was: others may have changed the rest. `path` is that of the organization.
 * @param {{path: string, runner: Api.RunnerResource | null, cancel: () => unknown, signal: AbortSignal,
 *   save: (data: Proposal, called: string, signal: AbortSignal) => Promise<unknown>}} said
 */
export function runnerForm({ path, runner, save, cancel, signal }) {
  const fields = new Fields(runner?.attributes);
  const workspaces = h("textarea", { rows: 2, spellcheck: "false" });
  const start = runner && fields.attributes();
  let named = "";
  if (runner) {
    fill(workspaces, runner.relationships.workspaces.data, signal).then((names) => {
      named = names;
    });
  }
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": runner ? "Change the runner" : "A new runner",
    busy: "Proposing …",
    onsubmit: async (waiting) => {
      const now = fields.attributes();
      const attributes = start ? changed(start, now) : now;
      const isNamed = !runner || (!workspaces.disabled && workspaces.value !== named);
      if (!isNamed && !Object.keys(attributes).length) {
        cancel();
        return;
      }
      const found = isNamed && (await findWorkspaces(path, lines(workspaces), WORKSPACES, waiting));
      if (isLeft(element)) return; // whoever has left it meanwhile proposes nothing
      const relationships = found && { workspaces: { data: found.map(({ id }) => ({ type: "workspaces", id })) } };
      await save({ type: "runners", attributes, ...(relationships && { relationships }) }, now.name, waiting);
      keepTyped(element, false);
    },
  },
    h("h2", {}, runner ? "Change the runner" : "A new runner"),
    fields.identity(),
    field({ label: "Workspaces", control: workspaces, pointer: WORKSPACES, hint: "One name on each line." }),
    fields.limits(),
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, "Propose"), leaveButton(cancel)));
  return element;
}

/** The controls of a runner's attributes, and what they say. */
class Fields {
  /** @param {Partial<Api.RunnerAttributes>} [said] */
  constructor(said = {}) {
    const text = (value = "") => h("input", { value, spellcheck: "false", autocapitalize: "none" });
    const area = (/** @type {string[]} */ of) => h("textarea", { rows: 3, spellcheck: "false", class: "code" }, of.join("\n"));
    this.ofIssuer = h("div", {});
    this.ofKey = h("div", {});
    this.ends = said["expired-at"];
    this.name = text(said.name);
    this.description = text(said.description);
    this.issuer = text(said.issuer ?? "");
    this.given = said.conditions ?? {};
    this.conditions = area(Object.entries(this.given).map(([claim, wanted]) => `${claim} = ${wanted}`));
    this.written = this.conditions.value;
    this.key = text(said["public-key"] ?? "");
    this.patterns = area(said["workspace-patterns"] ?? []);
    this.expiry = h("input", { type: "date", value: dayOf(this.ends ?? new Date(Date.now() + DAYS * DAY_MS)) });
    this.ttl = text(String(said["max-ttl"] ?? 900));
    this.sensitive = tick({ label: "Sensitive values too", checked: said["include-sensitive"] ?? true,
      pointer: `${AT}/include-sensitive` });
    this.unbound = tick({ label: "Tokens that name no key", checked: said["allow-unbound"] ?? false,
      pointer: `${AT}/allow-unbound`,
      hint: "For issuers that fix the audience. Whoever has such a token first gets the values, a proxy too." });
    this.proof = choice({ legend: "How it proves who it is", options: PROOFS,
      chosen: said["public-key"] ? "key" : "issuer", onchange: () => this.#show() });
  }

  /** What it is called, and who it is. */
  identity() {
    this.ofIssuer.append(
      field({ label: "Issuer", control: this.issuer, pointer: `${AT}/issuer`, hint: "The exact URL, one that the operator accepts." }),
      field({ label: "Conditions", control: this.conditions, pointer: `${AT}/conditions`,
        hint: "One claim on each line: repository_id = 1296269" }));
    this.ofKey.append(
      field({ label: "Public key", control: this.key, pointer: `${AT}/public-key`,
        hint: ["What ", h("code", {}, "teamvars runner init"), " prints on the machine."] }));
    this.#show();
    return [
      field({ label: "Name", control: this.name, pointer: `${AT}/name` }),
      field({ label: "Description", control: this.description, pointer: `${AT}/description` }),
      this.proof.element, this.ofIssuer, this.ofKey];
  }

  /** How far it reaches. */
  limits() {
    return [
      field({ label: "Patterns of names", control: this.patterns, pointer: `${AT}/workspace-patterns`,
        hint: "One on each line, such as prod-*. They reach what matches when they are approved." }),
      this.sensitive.element, this.unbound.element,
      field({ label: "Ends on", control: this.expiry, pointer: `${AT}/expired-at`, hint: "At most 90 days ahead." }),
      field({ label: "Seconds that a job's token is good", control: this.ttl, pointer: `${AT}/max-ttl` })];
  }

  /** As a document has them. */
  attributes() {
    const proof = this.proof.chosen() === "key"
      ? { "public-key": this.key.value.trim() }
      : { issuer: this.issuer.value.trim(), conditions: this.#conditions() };
    const isSame = this.ends && dayOf(this.ends) === this.expiry.value;
    return {
      name: this.name.value.trim(), description: this.description.value.trim(), ...proof,
      "workspace-patterns": lines(this.patterns),
      "include-sensitive": this.sensitive.box.checked, "allow-unbound": this.unbound.box.checked,
      "max-ttl": Number(this.ttl.value),
      "expired-at": isSame ? this.ends : beginOf(this.expiry.value),
    };
  }

  /** Not all that programs may propose can be written in lines: what nobody has changed is as it was. */
  #conditions() {
    return this.conditions.value === this.written ? this.given : conditionsOf(lines(this.conditions));
  }

  #show() {
    const isKey = this.proof.chosen() === "key";
    this.ofIssuer.hidden = isKey;
    this.ofKey.hidden = !isKey;
  }
}

/**
 * The names of workspaces, once they are known; until then nobody changes them.
 * @param {HTMLTextAreaElement} control
 * @param {Api.Identifier[]} named
 * @param {AbortSignal} signal
 */
async function fill(control, named, signal) {
  if (!named.length) return "";
  control.disabled = true;
  const names = await Promise.all(named.map(({ id }) => called(id, signal)));
  control.value = names.filter(Boolean).sort().join("\n");
  control.disabled = false;
  return control.value;
}

/**
 * What the workspace of that id is called; "" where it is gone.
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function called(id, signal) {
  try {
    /** @type {Answer<Api.WorkspaceDocument>} */
    const { document } = await read(`/workspaces/${id}`, { signal });
    return document.data.attributes.name;
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
    return "";
  }
}

/**
 * Claims and what they have to be. Refuses a line that says neither, and a claim that is there twice.
 * @param {string[]} said
 * @returns {Record<string, string>}
 */
function conditionsOf(said) {
  const pairs = said.flatMap((line) => [...line.matchAll(/^([^=\s]+)\s*=\s*(.+)$/g)]);
  if (pairs.length < said.length) {
    throw refused("Write claim = value on each line.");
  }
  const conditions = new Map(pairs.map(([, claim, wanted]) => [claim, wanted]));
  if (conditions.size < pairs.length) throw refused("Write each claim once: a job has to meet all lines.");
  return Object.fromEntries(conditions);
}

/**
 * Said at the field of conditions.
 * @param {string} detail
 */
function refused(detail) {
  return new Refused(422, [{ detail, source: { pointer: `${AT}/conditions` } }]);
}

/** @param {HTMLTextAreaElement} control */
function lines(control) {
  return control.value.split("\n").map((one) => one.trim()).filter(Boolean);
}

/**
 * The day that it is then where one is.
 * @param {string | Date} time
 */
function dayOf(time) {
  const at = new Date(time);
  return new Date(Date.UTC(at.getFullYear(), at.getMonth(), at.getDate())).toISOString().slice(0, 10);
}
