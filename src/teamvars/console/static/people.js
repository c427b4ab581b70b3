/** Members of an organization, as memberships of it. */

import { readPage } from "./api.js";
import { h } from "./dom.js";
import { Suggestions } from "./suggestions.js";

/** So many are asked for at a time: a query has room for them. */
const PORTION = 40;
/** Longer than any name or address. */
const MOST_CHARACTERS = 256;

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

/** Names of members under a field of many, for the word that one types. */
export function memberWords(organization, input) {
  const path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&sort=username&q=`;
  return new Suggestions(input, "Members with these letters", async (word) => {
    const { items, included } = await readPage(path + encodeURIComponent(word), 1);
    return items.map((one) => personOf(one, included).username);
  });
}
