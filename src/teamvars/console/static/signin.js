/** The form that one signs in with. It takes the place of the page, and gives it back. */

import { read, Refused, takenSession, Unreachable } from "./api.js";
import { h, icon } from "./dom.js";
import { field, form } from "./fields.js";
import { signInButtons } from "./providers.js";
import * as session from "./session.js";

/** @import { Answer } from "./api.js" */
/** @typedef {{id: string, name: string, isUser: boolean}} Account */

/**
 * The form. `done(account)` is called with whoever has signed in.
 * @param {session.Reason} reason why it is there
 * @param {Account | null} kept who has typed what waits behind it
 * @param {(account: Account) => unknown} done
 */
export function signInForm(reason, kept, done) {
  const input = h("input", {
    type: "password", autocomplete: "current-password", spellcheck: "false", autocapitalize: "none",
    placeholder: "tvu_…",
  });
  // Password managers keep nothing without a name.
  const site = h("input", { class: "unseen", autocomplete: "username", value: location.host, readonly: true, tabindex: -1,
    "aria-label": "Server" });
  const element = form({
    class: "card",
    autocomplete: "on",
    isMissed: false, // it is somewhere else as well
    busy: "Signing in …",
    onsubmit: async (signal) => {
      const token = input.value.trim();
      const account = await accountOf(token, signal);
      input.value = "";
      session.begin(token);
      done(account);
    },
  },
    site,
    field({ label: "Token", control: input,
      hint: "Paste your token here. Whoever opens an invitation gets one, or the operator of this server gives you the first. "
        + "Then make others yourself, under Tokens." }),
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Sign in")),
    session.storage ? h("p", { class: "hint" }, "Only this tab keeps it, until 30 minutes pass without a key or a click.")
      : h("p", { class: "notice caution" }, icon("warning"), h("span", {}, "The settings of this browser let this page keep nothing: "
        + "sign in with a token, and again whenever the page is loaded.")));
  const buttons = signInButtons(kept !== null);
  const section = h("section", { class: "sign-in" },
    h("h1", { tabindex: -1 }, "Sign in"),
    reason !== "none" && h("p", { class: "notice", role: "alert" }, session.REASONS[reason]),
    kept && h("p", { class: "notice" }, "What you typed is still there once you are back."),
    buttons,
    element);
  if (kept && buttons) followSession(section, kept, done);
  return section;
}

/**
 * Goes on, as whoever comes back to this tab, once the same user has signed in in another one.
 * @param {HTMLElement} section
 * @param {Account} kept
 * @param {(account: Account) => unknown} done
 */
function followSession(section, kept, done) {
  const over = new AbortController();
  const look = async () => {
    if (!section.isConnected) return over.abort();
    const found = document.hidden ? null : await begunSince();
    if (found?.account?.id !== kept.id || !section.isConnected) return;
    session.begin(found.token, found.id);
    done(found.account);
  };
  addEventListener("focus", look, { signal: over.signal });
  document.addEventListener("visibilitychange", look, { signal: over.signal });
}

/** The session of this browser, if it is another than the one of this tab. */
async function begunSince() {
  try {
    const { token, session: id } = await takenSession(session.take(""));
    return id === session.named() ? null : { token, id, account: await accountOf(token).catch(() => null) };
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
    return null;
  }
}

const NO_TOKEN = "This is not a token, or it has expired or was revoked.";

/**
 * Whose token it is: one that is given, or that of whoever is signed in.
 * @param {string} [token]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Account>}
 */
export async function accountOf(token, signal) {
  if (token && /[^!-~]/.test(token)) throw new Error(NO_TOKEN); // no header has it, and what else was pasted may be unseen
  try {
    /** @type {Answer<Api.UserDocument>} */
    const { document } = await read("/account/details", { token, signal });
    const { username, "is-service-account": isService } = document.data.attributes;
    return { id: document.data.id, name: username, isUser: !isService };
  } catch (error) {
    if (!(error instanceof Refused && error.status === 401)) throw error;
    throw new Error(NO_TOKEN, { cause: error });
  }
}
