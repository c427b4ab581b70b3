/** One's own tokens: where `terraform login` sends people. */

import { Change, Refused, newest, readAll, remove, send } from "./api.js";
import { ask } from "./dialogs.js";
import { announce, button, copyButton, h, name, time } from "./dom.js";
import { choice, field, form, keepTyped } from "./fields.js";
import { lead } from "./hands.js";
import { notify } from "./notices.js";
import { HAVE_SESSIONS, finishLinking, linkButtons } from "./providers.js";
import { redraw } from "./redraw.js";
import * as session from "./session.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const LIFETIMES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "", label: "as long as it may" },
];

/** @import { Answer } from "./api.js" */

/** @param {import("./pages.js").Context} context */
export async function tokensPage({ account, query, signal }) {
  const title = h("h1", { tabindex: -1 }, "Your tokens");
  const who = await account;
  if (!who.isUser) {
    return h("section", {}, title, h("p", { class: "notice" },
      "You are signed in with the token of a team or an organization. Only users have tokens of their own."));
  }
  const path = `/users/${who.id}/authentication-tokens`;
  const rows = h("ul", { class: "rows", role: "list" });
  const asks = newest();
  const draw = async () => {
    const isNewest = asks();
    /** @type {Api.TokenResource[]} */
    const found = await readAll(path, { signal });
    if (!isNewest()) return;
    redraw(rows, found.reverse().map((one) => ({ key: one.id, seen: JSON.stringify(one), make: () => row(one, draw) })));
  };
  await draw();
  if (await finishLinking()) notify("told", "From now on you sign in with this account as well.");
  const isLogin = query.get("source") === "terraform-login";
  return h("section", { class: "narrow" }, title,
    h("p", { class: "lead" }, "A token does what you may do. Give each program one of its own, so that you can revoke it alone."),
    newToken(path, isLogin ? "terraform login" : "", draw),
    h("h2", {}, "Those you have"), rows, signingIn(who.id, draw));
}

/**
 * Where there are providers: what ends all sessions, and what links an account.
 * @param {string} id
 * @param {() => Promise<void>} draw
 */
function signingIn(id, draw) {
  if (!HAVE_SESSIONS) return null;
  const links = linkButtons();
  const end = async () => {
    const text = "All browsers in which you have signed in are signed out. Tokens that you made stay.";
    if (!(await ask("Sign out everywhere?", text, "Sign out everywhere", { kind: "danger" }))) return;
    const sent = send("POST", `/users/${id}/actions/end-sessions`, undefined, { repeats: true });
    if (session.named()) return session.endAfter(sent, "refused"); // of a token that had ended, no other one ends
    await sent;
    announce("All your sessions have ended.");
    await draw();
  };
  return [h("h2", { class: "part" }, "Signing in"),
    links && [h("p", { class: "lead" }, "An account that you link signs in as you from then on."), links],
    h("div", { class: "actions" }, button("Sign out everywhere", end))];
}

/**
 * @param {Api.TokenResource} token
 * @param {() => Promise<void>} draw
 */
function row({ id, attributes }, draw) {
  const { description, "created-at": made, "last-used-at": used, "expired-at": ends } = attributes;
  const revoke = async () => {
    const text = "Programs that use it are refused from then on, and so are you if you signed in with it.";
    if (!(await ask("Revoke this token?", text, "Revoke", { kind: "danger" }))) return;
    await remove(`/authentication-tokens/${id}`);
    announce("The token is revoked.");
    await draw();
  };
  return h("li", { class: "row" },
    h("span", { class: "name" }, description ? name(description) : h("em", {}, "without a description")),
    h("span", { class: "aside" }, "made ", time(made), used ? [", used ", time(used)] : ", never used"),
    h("span", { class: "aside" }, ends ? [new Date(ends) < new Date() ? "ended " : "ends ", time(ends)] : "never ends"),
    button("Revoke", revoke, { kind: "bare", "aria-label": `Revoke ${description ?? "the token without a description"}` }));
}

/**
 * @param {string} path
 * @param {string} description
 * @param {() => Promise<void>} draw
 */
function newToken(path, description, draw) {
  const change = new Change();
  const words = h("input", { value: description, placeholder: "What it is for" });
  const lifetime = choice({ legend: "It lives", options: LIFETIMES, chosen: "90", pointer: "/data/attributes/expired-at" });
  const place = h("div", { "aria-live": "polite" });
  /**
   * When it ends, by how long it lives: the same for what is sent once more.
   * @type {Map<string, string>}
   */
  const ends = new Map();
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card",
    busy: "Creating …",
    onsubmit: async (signal) => {
      if (place.firstChild) throw new Error("Take the token below first: it is not shown again.");
      const days = lifetime.chosen();
      if (days && !ends.has(days)) ends.set(days, new Date(Date.now() + Number(days) * DAY_MS).toISOString());
      const attributes = { description: words.value, ...(days && { "expired-at": ends.get(days) }) };
      /** @type {Promise<Answer<Api.TokenDocument>>} */
      const sent = send("POST", path, { data: { type: "authentication-tokens", attributes } }, { change, signal });
      const { document } = await sent.catch(async (error) => {
        // Nobody sees the one again whose answer was lost: it is listed, and the next try makes another.
        if (error instanceof Refused && error.has("already_made")) {
          change.happened();
          await draw();
        }
        throw error;
      });
      ends.clear();
      keepTyped(element, false);
      words.value = "";
      place.replaceChildren(shownOnce(document.data.attributes.token ?? "", () => {
        place.replaceChildren();
        lead(element.querySelector("h2")); // what had the focus is gone
      }));
      await draw();
    },
  },
    h("h2", { tabindex: -1 }, "A new token"),
    field({ label: "Description", control: words, pointer: "/data/attributes/description",
      hint: "Shown beside each change that is made with it." }),
    lifetime.element,
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Create token")), place);
  return element;
}

/**
 * @param {string} token
 * @param {() => unknown} hide
 */
function shownOnce(token, hide) {
  /** @type {HTMLInputElement} */
  const text = h("input", { class: "code", readonly: true, value: token, "aria-label": "The new token",
    onfocus: () => text.select() });
  return h("div", { class: "notice made" },
    h("p", {}, h("strong", {}, "This is the only time it is shown.")),
    h("div", { class: "replace" }, text, copyButton(token, text), button("I have it", hide)));
}
