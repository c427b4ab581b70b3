/** Adds several people to a team at once, by what they are called: all of them, or none. */

import { Change, Refused, send } from "./api.js";
import { button, h, listed, name, shown } from "./dom.js";
import { clearErrors, field, form, keepTyped, leaveButton } from "./fields.js";
import { isLeft } from "./hands.js";
import { folded, memberWords, peopleOf } from "./people.js";

const TYPE = "organization-memberships";
const NOBODY = "Nobody in the organization has this name or address.";
const SEVERAL = "This is one person's name and another's address. Give the other of theirs.";

/** @import { ErrorObject } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Person } from "./people.js" */

/**
 * A word that somebody has typed, where it begins, what is compared of it, and whom it names.
 * @typedef {{text: string, from: number, called: string}} Word
 * @typedef {Word & {those: Person[]}} Found
 */

/**
 * @typedef {{organization: string, team: Api.TeamResource, path: string, done: (told: Child) => unknown,
 *   cancel: () => unknown}} Said
 */

/**
 * The form.
 * @param {Said} said `path` is that of the team's members; `done(told)` once they are in it
 */
export function addMembersForm(said) {
  return new Adding(said).element;
}

class Adding {
  #change = new Change();

  /** @param {Said} said */
  constructor({ organization, team, path, done, cancel }) {
    this.organization = organization;
    this.team = team;
    this.path = path;
    this.done = done;
    this.input = h("textarea", { rows: 3, spellcheck: "false", autocapitalize: "none" });
    this.suggested = memberWords(organization, this.input);
    this.told = h("div", { role: "alert" });
    this.element = form({ class: "card", "aria-label": "Add members", busy: "Adding …",
      onsubmit: (signal) => this.#submit(signal) },
      field({ label: "Whom to add", control: this.input, pointer: "/data",
        hint: "Usernames or e-mail addresses, separated by commas, spaces or lines." }),
      this.suggested.element, this.told,
      h("div", { class: "actions" },
        h("button", { class: "button primary" }, "Add to the team"), leaveButton(cancel)));
  }

  /** @param {AbortSignal} signal */
  async #submit(signal) {
    this.told.replaceChildren();
    const words = wordsOf(this.input.value);
    if (!words.length) throw refused("Give a name first.");
    const people = await peopleOf(this.organization, words.map((one) => one.called), { signal });
    if (isLeft(this.element)) return; // whoever has left it meanwhile adds nobody
    const found = words.map((one) => ({ ...one, those: people.filter(({ names }) => names.includes(one.called)) }));
    const isMember = (/** @type {Found} */ { those }) => those.length === 1 && those[0].teamIds.includes(this.team.id);
    const present = found.filter(isMember);
    const joining = found.filter((one) => !isMember(one));
    this.#require(joining.map(({ those }) => reasonOf(those)), joining, present);
    if (joining.length) await this.#add(joining, present, signal);
    keepTyped(this.element, false);
    this.done([joining.length > 0 && ["Added: ", namesOf(joining), ". "],
      present.length > 0 && ["Already in the team: ", namesOf(present), "."]]);
  }

  /**
   * What the API says of one of them is told of that one.
   * @param {Found[]} joining
   * @param {Found[]} present
   * @param {AbortSignal} signal
   */
  async #add(joining, present, signal) {
    const idOf = (/** @type {Found} */ { those: [{ membershipId }] }) => membershipId;
    const ids = [...new Set(joining.map(idOf))];
    try {
      await send("POST", this.path, { data: ids.map((id) => ({ type: TYPE, id })) }, { change: this.#change, signal });
    } catch (error) {
      const errors = error instanceof Refused ? error.errors : [];
      const details = new Map(errors.map((one) => [ids[Number(indexOf(one))], one.detail]));
      this.#require(joining.map((one) => details.get(idOf(one))), joining, present);
      throw error;
    }
  }

  /**
   * Refuses unless there is no reason why not; each one stands beside its word.
   * @param {(string | undefined)[]} reasons
   * @param {Found[]} words
   * @param {Found[]} present
   */
  #require(reasons, words, present) {
    const bad = words.map((one, at) => ({ ...one, reason: reasons[at] ?? "" })).filter((one) => one.reason);
    if (!bad.length) return;
    const isBad = new Set(bad.map((one) => one.from));
    const good = [...words.filter((one) => !isBad.has(one.from)), ...present];
    this.told.append(h("ul", {}, bad.map((one) => this.#told(one)),
      present.length > 0 && h("li", { class: "hint" }, "Already in the team: ", namesOf(present), ".")));
    if (good.length) this.told.append(h("div", { class: "actions" }, button("Leave these out", () => this.#put(good))));
    throw refused(`Nobody is added yet: ${bad.length} of ${bad.length + good.length} cannot be.`);
  }

  /** @param {Word & {reason: string}} word */
  #told({ text, from, reason }) {
    const owns = this.team.attributes.permissions["can-update-visibility"];
    const invite = new URLSearchParams({ invite: text, team: this.team.id });
    const mark = h("button", { type: "button", class: "word", title: "Show it in the field", onclick: () => {
      this.input.focus();
      this.input.setSelectionRange(from, from + text.length);
    } }, name(text));
    return h("li", { class: "error" }, mark, ": ", shown(reason),
      owns && reason === NOBODY && text.includes("@")
        && [" ", h("a", { href: `/app/${this.organization}/members?${invite}` }, "Invite them"), "."]);
  }

  /** @param {Word[]} words */
  #put(words) {
    this.input.value = words.map((one) => one.text).join("\n");
    this.told.replaceChildren();
    clearErrors(this.element);
    this.input.focus();
  }
}

/**
 * What somebody has typed, each once, with its place.
 * @param {string} typed
 */
function wordsOf(typed) {
  /** @type {Map<string, Word>} */
  const words = new Map();
  for (const { 0: text, index: from } of typed.matchAll(/[^\s,;]+/g)) {
    const called = folded(text);
    if (!words.has(called)) words.set(called, { text, from, called });
  }
  return [...words.values()];
}

/** @param {Person[]} those */
function reasonOf(those) {
  if (those.length === 1) return "";
  return those.length ? SEVERAL : NOBODY;
}

/**
 * Which item an error of the API is about.
 * @param {ErrorObject} error
 */
function indexOf({ source }) {
  return /^\/data\/(\d+)/.exec(source?.pointer ?? "")?.[1];
}

/**
 * Whom they name, each once.
 * @param {Found[]} found
 */
function namesOf(found) {
  return listed([...new Set(found.map(({ those: [{ username }] }) => username))].map(name));
}

/**
 * Said at the field.
 * @param {string} detail
 */
function refused(detail) {
  return new Refused(422, [{ detail, source: { pointer: "/data" } }]);
}
