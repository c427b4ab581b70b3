/** Members of an organization, as memberships of it. */

import { readPage } from "./api.js";

const MOST_WORDS = 100;
/** Longer than any name or address. */
const MOST_CHARACTERS = 256;
const MOST_OF_QUERY = 8000;

/** Whom a membership is of; `included` are the users that came with it. */
export function personOf({ id, attributes, relationships }, included) {
  const userId = relationships.user.data.id;
  const { username } = included.find((one) => one.type === "users" && one.id === userId).attributes;
  const teamIds = relationships.teams.data.map((one) => one.id);
  return { membershipId: id, userId, username, email: attributes.email, teamIds, isInvited: attributes.status === "invited" };
}

/** As names and addresses are compared: A to Z are a to z, and no other letters are the same. */
export function folded(text) {
  return text.normalize("NFC").replace(/[A-Z]/g, (one) => one.toLowerCase());
}

/** Whoever is called so, by a folded username or address; somebody's username may be another's address. */
export async function findPeople(organization, words) {
  const found = new Map(words.map((one) => [one, []]));
  const path = `/organizations/${encodeURIComponent(organization)}/organization-memberships?include=user&filter[user]=`;
  for (const some of portions(words.filter((one) => one.length < MOST_CHARACTERS).map(encodeURIComponent))) {
    for (let number = 1; number; ) {
      const page = await readPage(path + some.join(","), number);
      for (const person of page.items.map((one) => personOf(one, page.included))) {
        const names = new Set([person.username, person.email ?? ""].map(folded));
        names.forEach((one) => found.get(one)?.push(person));
      }
      number = page.next;
    }
  }
  return found;
}

/** So many at a time that a query has room for them. */
function portions(words) {
  const all = [];
  let room = 0;
  for (const one of words) {
    room -= one.length + 1;
    if (room < 0 || all.at(-1).length === MOST_WORDS) {
      all.push([]);
      room = MOST_OF_QUERY - one.length;
    }
    all.at(-1).push(one);
  }
  return all;
}
