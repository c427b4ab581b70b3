/** Members of an organization, as memberships of it. */

import { readPage } from "./api.js";
import { button, h, name } from "./dom.js";
import { afterLastKey } from "./paged_list.js";
import { redraw } from "./redraw.js";

/** So many are asked for at a time: a query has room for them. */
const PORTION = 40;
/** Longer than any name or address. */
const MOST_CHARACTERS = 256;
const SUGGESTED = 6;
const FEWEST_LETTERS = 2;

/** Whom a membership is of; `included` are the users that came with it. */
export function personOf({ id, attributes: { email, status }, relationships }, included) {
  const userId = relationships.user.data.id;
  // Whoever is invited goes by the address.
  const username = included.find((one) => one.type === "users" && one.id === userId).attributes.username || email;
  return { membershipId: id, userId, username, email, isInvited: status === "invited",
    teamIds: relationships.teams.data.map((one) => one.id), names: [username, email ?? ""].map(folded) };
}

/** Instead of what cannot be done. */
export function lastOwner() {
  return h("span", { class: "aside", role: "note", tabindex: -1 },
    "The last owner who can sign in must stay, or nobody could manage the organization. Add another owner first.");
}

/** As names and addresses are compared: A to Z are a to z, and no other letters are the same. */
export function folded(text) {
  return text.normalize("NFC").replace(/[A-Z]/g, (one) => one.toLowerCase());
}

/** Those with these names, addresses or ids, of the users or the memberships. */
export async function peopleOf(organization, words, options) {
  const path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&filter[user]=`;
  const asked = words.filter((one) => one.length <= MOST_CHARACTERS).map(encodeURIComponent);
  const found = [];
  for (let at = 0; at < asked.length; at += PORTION) {
    // At most twice as many: somebody's username may be another's address.
    const { items, included } = await readPage(path + asked.slice(at, at + PORTION).join(","), 1, options);
    found.push(...items.map((one) => personOf(one, included)));
  }
  return found;
}

/** Under a field of many names: the members whose names or addresses have the word in them that one types. */
export class MemberWords {
  constructor(organization, input) {
    this.path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&sort=username&q=`;
    this.input = input;
    this.element = h("div", { class: "suggested", role: "group", "aria-label": "Members with these letters" });
    input.addEventListener("input", afterLastKey(() => this.#suggest()));
  }

  get #word() {
    return this.input.value.slice(0, this.input.selectionStart).split(/[\s,;]/).at(-1);
  }

  async #suggest() {
    const word = this.#word;
    const none = { items: [], included: [] };
    const asked = word.length < FEWEST_LETTERS ? none : readPage(this.path + encodeURIComponent(word), 1).catch(() => none);
    const { items, included } = await asked;
    if (word !== this.#word) return;
    const people = items.slice(0, SUGGESTED).map((one) => personOf(one, included)).filter(({ username }) => username !== word);
    redraw(this.element, people.map(({ username }) => ({ key: username, seen: true,
      make: () => button(name(username), () => this.#take(username), { "aria-label": `Take ${username}` }) })));
  }

  /** Puts a name in the place of the word, and goes on. */
  #take(username) {
    const end = this.input.selectionStart;
    this.input.setRangeText(`${username}\n`, end - this.#word.length, end, "end");
    this.input.dispatchEvent(new Event("input", { bubbles: true }));
    redraw(this.element, []);
    this.input.focus();
  }
}
