/** Changes, as pages of activity show them: who, what, which attributes, when, with which token. */

import { count, h, listed, name, time } from "./dom.js";

/** @import { Child } from "./dom.js" */
/** @typedef {Api.AuditEventAttributes} Event */
/** @typedef {Map<string, string>} People what those people and workspaces are called that changes were about, by id */
/** @typedef {Record<string, string>} Words by kinds of changes, or parts of them */

/** So many of those whom a change was about are named. */
export const MOST_NAMED = 5;
/** @type {Words} */
const KINDS = { user: "", team: "the team ", organization: "the organization ", runner: "the runner " };
/** @type {Words} */
const VARIABLE = {
  "variable.create": "added", "variable.update": "changed", "variable.delete": "deleted",
  "variable.copy": "copied to another workspace",
};
/** @type {Words} */
const VERBS = {
  accept: "accepted", add: "added", approve: "approved", attach: "attached", claim: "claimed",
  create: "made", delete: "deleted", detach: "detached", empty: "emptied",
  expire: "let expire", fail: "could not send", lock: "locked", put: "set", remove: "removed",
  rename: "renamed", resend: "sent again", revoke: "revoked", send: "sent", unlock: "unlocked", update: "changed",
};
/**
 * What reads better as a whole than as a verb and a noun.
 * @type {Words}
 */
const PHRASES = {
  "grant.put": "gave access to a workspace", "grant.remove": "took away access to a workspace",
  "organization.limit-tokens": "limited how long tokens live",
  "runner.create": "proposed the runner", "runner.revoke": "revoked the approval of the runner",
  "project-grant.put": "gave access to a project", "project-grant.remove": "took away access to a project",
  "workspace.move": "moved to another project the workspace",
  "token.let-in": "let somebody in who has not signed in",
  "variable.deliver": "was handed the values of a workspace",
};
/**
 * What leads to workspaces, where these can still be named.
 * @type {Words}
 */
const ABOUT_WORKSPACES = {
  "grant.put": "gave access to ", "grant.remove": "took away access to ", "variable.deliver": "was handed the values of ",
};
/** @type {Record<string, [string, string]>} */
const ABOUT_SOMEBODY = {
  "invitation.create": ["invited ", ""], "invitation.resend": ["renewed the invitation of ", ""],
  "invitation.revoke": ["revoked the invitation of ", ""], "membership.create": ["added ", " to the organization"],
  "membership.delete": ["removed ", " from the organization"],
};
/** @type {Words} */
const PLACES = {
  "grant.put": " for ", "grant.remove": " from ", "project-grant.put": " for ", "project-grant.remove": " from ",
  "member.add": " to ", "member.remove": " from ",
};
/** @type {Words} */
const NOUNS = {
  grant: "a grant", invitation: "an invitation", membership: "a membership",
  organization: "the organization", project: "the project", runner: "the runner", team: "the team", token: "a token",
  trail: "the trail as it was found", varset: "the variable set", workspace: "the workspace",
};

/**
 * The row of a change.
 * @param {Event} event
 * @param {People} people
 * @param {string | null} here the page of the workspace or team it is about, if there is one
 * @param {Child} [place] where it was, if the page is about more than one place
 */
export function eventRow(event, people, here, place) {
  const { action, "created-at": at, details, "token-description": token } = event;
  const changed = action.endsWith("grant.put") ? [String(details.variables)] : event.changed;
  return h("li", { class: "row event" },
    h("span", { class: "name" },
      h("strong", {}, who(event)), " ", what(event, people, here), place && [PLACES[action] ?? " in ", place],
      changed.length > 0 && h("span", { class: "changes" }, changed.map((one) => h("span", { class: "badge" }, one)))),
    h("span", { class: "aside" }, time(at), token && [" with ", name(token)]));
}

/**
 * Whoever it was, as the reader is told.
 * @param {Event} event
 * @returns {Child}
 */
function who({ actor, "actor-name": called }) {
  if (actor.type === "operator") return "an operator";
  return [KINDS[actor.type] ?? "", called ? name(called) : h("span", { class: "code" }, actor.id)];
}

/**
 * What they did, in words, with a way to what is still there.
 * @param {Event} event
 * @param {People} people
 * @param {string | null} here
 * @returns {Child}
 */
function what({ action, details }, people, here) {
  if (action in VARIABLE && typeof details.key === "string") {
    return [`${VARIABLE[action]} `, variable(action, details, here)];
  }
  const [noun, verb] = action.split(".");
  if (noun === "member") return [`${VERBS[verb]} `, whom(concerned({ details }), people)];
  const workspaces = workspacesIn({ details }).filter((id) => people.has(id));
  if (action in ABOUT_WORKSPACES && workspaces.length) {
    return [ABOUT_WORKSPACES[action], listed(workspaces.map((id) => name(people.get(id) ?? id)))];
  }
  if (action in ABOUT_SOMEBODY) {
    const [before, after] = ABOUT_SOMEBODY[action];
    return [before, whom(concerned({ details }), people), after];
  }
  const words = PHRASES[action] ?? `${VERBS[verb] ?? verb} ${NOUNS[noun] ?? noun}`;
  const called = typeof details.user === "string" && people.get(details.user);
  const named = typeof details.name === "string" && name(details.name);
  return [words, called && [" of ", name(called)],
    named && [" ", noun === "team" && here ? h("a", { href: here }, named) : named], formerly(details)];
}

/**
 * The ids of those whom a change was about.
 * @param {Pick<Event, "details">} event
 * @returns {string[]}
 */
export function concerned({ details }) {
  const { user, "organization-memberships": ids } = details;
  return textsOf(Array.isArray(ids) ? ids : [user]);
}

/**
 * The ids of workspaces that a change names, other than by where it was.
 * @param {Pick<Event, "details">} event
 */
export function workspacesIn({ details: { workspace, workspaces } }) {
  return textsOf([workspace, workspaces].flat());
}

/** @param {unknown[]} values */
function textsOf(values) {
  return values.filter((one) => typeof one === "string");
}

/**
 * The first few by name; of the others, and of who has left, the number.
 * @param {string[]} ids
 * @param {People} people
 */
function whom(ids, people) {
  const names = ids.slice(0, MOST_NAMED).filter((one) => people.has(one)).map((one) => name(people.get(one) ?? one));
  const rest = ids.length - names.length;
  const words = rest > 0 ? [...names, count(rest, names.length ? "other" : "member")] : names;
  return words.map((one, at) => [at > 0 && (at === words.length - 1 ? " and " : ", "), one]);
}

/**
 * @param {string} action
 * @param {Event["details"]} details
 * @param {string | null} here
 */
function variable(action, { key, from, category }, here) {
  const text = h("span", { class: "code" }, name(String(key)));
  const isThere = here && action !== "variable.delete";
  const found = isThere ? h("a", { href: `${here}?key=${encodeURIComponent(String(key))}` }, text) : text;
  return [found, formerly({ from }), h("span", { class: "hint" }, ` ${category}`)];
}

/** @param {{from?: unknown}} details */
function formerly({ from }) {
  return typeof from === "string" && [", which was ", name(from)];
}
