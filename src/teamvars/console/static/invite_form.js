/** Invites several people at once, by e-mail address, and into teams. */

import { Change, Refused, read, readPage, send } from "./api.js";
import { announce, count, h, listed, name } from "./dom.js";
import { field, form, keepTyped, leaveButton, tick } from "./fields.js";
import { isLeft } from "./hands.js";
import { searchField } from "./paged_list.js";
import { folded } from "./people.js";
import { redraw } from "./redraw.js";

/** @import { Answer, ErrorObject, Page } from "./api.js" */
/** @import { Child } from "./dom.js" */

const EMAIL = "/data/attributes/email";
const TEAMS = "/data/relationships/teams";
/** More teams than one sees at once. */
const MANY_TEAMS = 12;

/**
 * `path` is that of the organization; `changed()` once some are invited, `done(told)` once all are, or none is to be.
 * `addresses` and a team may be given.
 * @param {{path: string, changed: () => Promise<unknown>, done: (told: Child) => unknown, addresses?: string,
 *   teamId?: string | null}} said
 */
export function inviteForm({ path, changed, done, addresses = "", teamId = null }) {
  /** @type {Map<string, Change>} */
  const changes = new Map();
  const teams = new TeamChoice(path, teamId);
  const input = h("textarea", { rows: 3, spellcheck: "false", autocapitalize: "none", value: addresses });
  const told = h("div", { role: "status" });
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": "Invite people",
    busy: "Inviting …",
    onsubmit: async (signal) => {
      const words = addressesOf(input.value);
      if (!words.length) throw new Refused(0, [{ detail: "Give an address first.", source: { pointer: EMAIL } }]);
      requireAddresses(words);
      const { went, errors, failure } = await invite(words, teams.ids(), signal);
      const isLeft = (/** @type {string} */ one) => !went.includes(one);
      input.value = words.filter(isLeft).join("\n");
      const invited = went.length > 0 && h("span", {}, "Invited: ", listed(went.map(name)), ".");
      // Of all, that is told where the form was.
      told.replaceChildren(...(invited && errors.length ? [h("p", { class: "notice" }, invited)] : []));
      if (failure instanceof Refused && failure.status === 401) throw failure;
      if (went.length) await changed();
      if (errors.length) throw new Refused(0, errors);
      keepTyped(element, false);
      done(invited);
    },
  },
    h("h2", {}, "Invite people"),
    field({ label: "E-mail addresses", control: input, pointer: EMAIL, hint: "Separated by commas, spaces or lines." }),
    teams.element, told,
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Invite"), leaveButton(() => done(null))));

  /**
   * One after the other, as far as nothing is wrong but with an address; the rest was not tried. Whoever leaves the
   * form meanwhile invites nobody else.
   * @param {string[]} words
   * @param {string[]} ids
   * @param {AbortSignal} signal
   * @returns {Promise<{went: string[], errors: ErrorObject[], failure?: unknown}>}
   */
  const invite = async (words, ids, signal) => {
    /** @type {string[]} */
    const went = [];
    /** @type {ErrorObject[]} */
    const errors = [];
    for (const email of words) {
      if (isLeft(element)) break;
      const change = changes.get(email) ?? new Change();
      changes.set(email, change);
      try {
        await send("POST", `${path}/organization-memberships`, documentOf(email, ids), { change, signal });
      } catch (error) {
        const isTold = error instanceof Refused && error.errors.length;
        /** @type {ErrorObject[]} */
        const those = isTold ? error.errors : [{ detail: /** @type {Error} */ (error).message }];
        errors.push(...those.map((one) => placed(one, email)));
        if (those.some((one) => one.source?.pointer !== EMAIL)) return { went, errors, failure: error };
        continue;
      }
      changes.delete(email);
      went.push(email);
      if (words.length > 1) announce(`${went.length} of ${words.length} invited`);
    }
    return { went, errors };
  };
  return element;
}

/**
 * Of "dave@example,com" the first half would be invited: nobody is, while a piece cannot be an address.
 * @param {string[]} words
 */
function requireAddresses(words) {
  const bad = words.filter((one) => !one.includes("@"));
  if (!bad.length) return;
  const detail = `Nobody is invited yet. There is no @ in: ${bad.join(", ")}`;
  throw new Refused(0, [{ detail, source: { pointer: EMAIL } }]);
}

/**
 * An error at the field it is about: of all addresses, or of all teams.
 * @param {ErrorObject} error
 * @param {string} email
 * @returns {ErrorObject}
 */
function placed({ detail, source }, email) {
  if (source?.pointer === EMAIL) return { detail: `${email}: ${detail}`, source };
  return { detail, source: source?.pointer?.startsWith(TEAMS) ? { pointer: TEAMS } : null };
}

/**
 * @param {string} email
 * @param {string[]} ids
 */
function documentOf(email, ids) {
  const data = ids.map((id) => ({ type: "teams", id }));
  return { data: { type: "organization-memberships", attributes: { email }, relationships: { teams: { data } } } };
}

/**
 * Each address once; of "Dave <dave@example.com>", as mail programs have it, what is in the brackets.
 * @param {string} text
 */
function addressesOf(text) {
  const found = text.split(/[,;\n]+/).flatMap((one) => {
    const named = [...one.matchAll(/<([^<>\s]+@[^<>\s]+)>/g)];
    const last = named.at(-1);
    const rest = last ? one.slice(last.index + last[0].length) : one;
    return [...named.map(([, address]) => address), ...rest.split(/\s+/)];
  });
  return [...new Set(found.filter(Boolean))];
}

/** Teams of the organization to tick; those that are ticked stay, whatever one looks for. */
class TeamChoice {
  /** @type {Map<string, string>} */
  #chosen = new Map();
  words = "";

  /**
   * @param {string} path
   * @param {string | null} teamId
   */
  constructor(path, teamId) {
    this.path = path;
    this.rows = h("div", { class: "ticks" });
    this.rest = h("p", { class: "hint", role: "status" });
    this.looking = h("div", { hidden: true }, searchField("Find a team", (words) => this.#draw(words)));
    this.element = h("fieldset", { class: "field", "data-pointer": TEAMS, hidden: true },
      h("legend", { class: "label" }, "Into teams"), this.looking, this.rows, this.rest);
    this.#begin(teamId);
  }

  /** Of those that are ticked. */
  ids() {
    return [...this.#chosen.keys()];
  }

  /**
   * Shows the teams, with the one ticked that was given.
   * @param {string | null} teamId
   */
  async #begin(teamId) {
    try {
      if (!teamId) return;
      this.#chosen.set(teamId, teamId); // until it is known how it is called
      /** @type {Answer<Api.TeamDocument>} */
      const { document } = await read(`/teams/${encodeURIComponent(teamId)}`);
      this.#chosen.set(teamId, document.data.attributes.name);
    } finally {
      await this.#draw("");
    }
  }

  /** @param {string} words */
  async #draw(words) {
    this.words = words;
    /** @type {Page<Api.TeamResource, never>} */
    const { items, total } = await readPage(`${this.path}/teams${words && `?q=${encodeURIComponent(words)}`}`, 1);
    if (words !== this.words) return;
    if (!words) [this.element.hidden, this.looking.hidden] = [!total, total <= MANY_TEAMS];
    const found = new Map(this.#chosen);
    for (const { id, attributes } of items) found.set(id, attributes.name);
    const meant = [...found.values()].filter((called) => folded(called).includes(folded(words)));
    const unseen = total - meant.length;
    this.rest.textContent = unseen > 0 ? `And ${count(unseen, "more team")}, found by name.` : "";
    redraw(this.rows, [...found].map(([id, called]) => ({ key: id, seen: called, make: () => this.#tick(id, called) })));
  }

  /**
   * @param {string} id
   * @param {string} called
   */
  #tick(id, called) {
    return tick({ label: name(called), checked: this.#chosen.has(id), onchange: ({ target }) => {
      if (target.checked) this.#chosen.set(id, called);
      else this.#chosen.delete(id);
    } }).element;
  }
}
