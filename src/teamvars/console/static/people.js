/** Members of an organization, as memberships of it. */

import { oneOf, readPage } from "./api.js";
import { h } from "./dom.js";
import { lead } from "./hands.js";
import { Suggestions } from "./suggestions.js";

/** So many are asked for at a time: a query has room for them. */
const PORTION = 40;
/** Longer than any name or address. */
const MOST_CHARACTERS = 256;

/**
 * A member, as pages have them; `names` are what they are found by.
 * @typedef {{membershipId: string, userId: string, username: string, email: string | null, isInvited: boolean, teamIds: string[],
 *   names: string[]}} Person
 */

/** @typedef {import("./api.js").Page<Api.MembershipResource, Included>} MembersPage */
/** @typedef {NonNullable<Api.MembershipListDocument["included"]>[number]} Included */

/**
 * Whom a membership is of; `included` are the users that came with it.
 * @param {Api.MembershipResource} membership
 * @param {Included[]} included
 * @returns {Person}
 */
export function personOf({ id, attributes: { email, status }, relationships }, included) {
  const userId = relationships.user.data.id;
  // Whoever is invited goes by the address.
  const username = oneOf(included, "users", userId)?.attributes.username || (email ?? userId);
  return { membershipId: id, userId, username, email, isInvited: status === "invited",
    teamIds: relationships.teams.data.map((one) => one.id), names: [username, email ?? ""].map(folded) };
}

/**
 * Instead of the button of what cannot be done.
 * @param {HTMLElement} pressed
 */
export function tellLastOwner(pressed) {
  const told = lastOwner();
  pressed.replaceWith(told);
  lead(told);
}

/** Instead of what cannot be done. */
export function lastOwner() {
  return h("span", { class: "aside", role: "note", tabindex: -1 },
    "The last owner who can sign in must stay, or nobody could manage the organization. Add another owner first.");
}

/**
 * As names and addresses are compared: A to Z are a to z, and no other letters are the same.
 * @param {string} text
 */
export function folded(text) {
  return text.normalize("NFC").replace(/[A-Z]/g, (one) => one.toLowerCase());
}

/**
 * Those with these names, addresses or ids, of the users or the memberships.
 * @param {string} organization
 * @param {string[]} words
 * @param {import("./api.js").Options} options
 */
export async function peopleOf(organization, words, options) {
  const path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&filter[user]=`;
  const asked = words.filter((one) => one.length <= MOST_CHARACTERS).map(encodeURIComponent);
  /** @type {Person[]} */
  const found = [];
  for (let at = 0; at < asked.length; at += PORTION) {
    // At most twice as many: somebody's username may be another's address.
    /** @type {MembersPage} */
    const { items, included } = await readPage(path + asked.slice(at, at + PORTION).join(","), 1, options);
    found.push(...items.map((one) => personOf(one, included)));
  }
  return found;
}

/**
 * Names of members under a field of many, for the word that one types.
 * @param {string} organization
 * @param {HTMLTextAreaElement} input
 */
export function memberWords(organization, input) {
  const path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&sort=username&q=`;
  return new Suggestions(input, "Members with these letters", async (word) => {
    /** @type {MembersPage} */
    const { items, included } = await readPage(path + encodeURIComponent(word), 1);
    return items.map((one) => personOf(one, included).username);
  });
}
