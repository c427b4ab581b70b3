/** With whom people sign in besides by a token, and what this browser is signed in to. */

import { linkAccount, Refused, takenSession, Unreachable } from "./api.js";
import { button, h, part } from "./dom.js";
import { failed } from "./notices.js";
import * as session from "./session.js";

const PLACE = "teamvars.place";
const LINKING = "teamvars.linking";
/**
 * What each is called, by the address that leads there.
 * @type {[string, string][]}
 */
const PROVIDERS = Object.entries(JSON.parse(part("main").dataset.providers ?? "{}"));
/** Whether people have sessions, if only in other browsers than this one. */
export const HAVE_SESSIONS = PROVIDERS.length > 0;
/** Those that this tab may leave for: it has to keep why until it is back. */
const OFFERED = session.storage ? PROVIDERS : [];

/**
 * A button for each, or nothing. Where something typed waits in this tab, they lead there in another one.
 * @param {boolean} kept
 */
export function signInButtons(kept) {
  if (OFFERED.length === 0) return null;
  const buttons = OFFERED.map(([address, title]) => {
    const text = `Sign in with ${title}`;
    if (!kept) return button(text, () => leaveFor(address), { kind: "primary" });
    return h("a", { class: "button primary", href: address, target: "_blank", rel: "noopener" }, text);
  });
  return [kept && h("p", { class: "hint" }, "This opens another tab. Once you are signed in there, come back to this one."),
    h("div", { class: "actions" }, buttons)];
}

/** A button for each that links one's account there, by which one signs in from then on. */
export function linkButtons() {
  if (OFFERED.length === 0) return null;
  return h("div", { class: "actions" }, OFFERED.map(([address, title]) => button(`Link my account at ${title}`, () => {
    session.storage?.setItem(LINKING, "yes");
    location.assign(`${address}/link`);
  })));
}

/** Links the account with which one has come back, if it was this tab that left for it; says whether it was. */
export async function finishLinking() {
  if (!session.storage?.getItem(LINKING)) return false;
  session.storage?.removeItem(LINKING);
  await linkAccount(session.named());
  return true;
}

/**
 * Signs in to the session of this browser, if there is one; returns why, where nobody is signed in then.
 * @returns {Promise<session.Reason>}
 */
export async function takeUp() {
  // Whoever has left, or idled here, says so again.
  if (session.taken === null) return session.begun;
  try {
    const { token, session: id } = await takenSession(session.taken);
    session.begin(token, id);
    comeBack();
    return "none";
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return session.named() ? "refused" : "none";
    if (error instanceof Refused && error.status === 409) return "another";
    if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
    // A page at another address than the public one is given nothing: there is the pasted token.
    if (!(error instanceof Refused && error.status === 403)) failed(error);
    return "none";
  }
}

/** @param {string} address */
function leaveFor(address) {
  session.storage?.setItem(PLACE, location.pathname + location.search);
  location.assign(address);
}

/** To where one was before: only this tab has kept that, and no URL. */
function comeBack() {
  const place = session.storage?.getItem(PLACE);
  session.storage?.removeItem(PLACE);
  if (place?.startsWith("/app/")) history.replaceState(null, "", place);
}
