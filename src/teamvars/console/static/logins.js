/** Where somebody approves that a program of theirs acts as them: `teamvars login`. */

import { readAll, Refused, send } from "./api.js";
import { announce, button, h, listed, name, time } from "./dom.js";
import { field, form } from "./fields.js";
import { lead } from "./hands.js";

const ACTIONS = "/logins/actions";
/** What a program beside this browser says in the address, by the names that the API has. */
const SAID = ["host", "redirect_uri", "code_challenge", "state"];

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @typedef {Record<string, string | number | null>} Asked */

/**
 * Of a program beside this browser, which opened the page: the browser brings the answer to it.
 * @param {import("./pages.js").Context} context
 */
export async function loginPage({ account, query, signal }) {
  /** @type {Asked} */
  const asked = Object.fromEntries(SAID.map((one) => [one.replaceAll("_", "-"), query.get(one)]));
  if (query.has("expires_in")) asked["expires-in"] = Number(query.get("expires_in"));
  const shown = await told("show", asked, signal);
  const back = once(async (/** @type {() => Promise<Api.LoginResource>} */ answer) => {
    const { attributes } = await answer();
    location.replace(attributes["redirect-uri"] ?? "");
  });
  return h("section", { class: "narrow" },
    await question(shown, account, signal),
    h("p", { class: "notice caution" }, "Approve only if you have just run ", h("code", {}, "teamvars login"),
      " on this machine yourself. If a link led you here, or somebody told you to come, refuse."),
    h("div", { class: "actions" },
      button("Approve", () => back(() => told("approve", asked, signal)), { kind: "primary" }),
      button("Refuse", () => back(async () => shown))));
}

/**
 * Of a program anywhere, which shows a code. No link has it: whoever is led here types it.
 * @param {import("./pages.js").Context} context
 */
export async function devicePage({ account, signal }) {
  const title = h("h1", { tabindex: -1 }, "Log in a terminal");
  const place = h("div", {});
  const input = h("input", { class: "code", autocapitalize: "characters", spellcheck: "false", placeholder: "BCDFG-HJKLM" });
  const element = form({
    class: "card",
    isMissed: false,
    saves: false,
    busy: "Looking …",
    onsubmit: async (waiting) => {
      const asked = { "user-code": input.value };
      const shown = await told("show", asked, waiting);
      const asks = await question(shown, account, waiting);
      const ended = (/** @type {string} */ text) => {
        place.replaceChildren(h("p", { class: "notice" }, text));
        announce(text);
        element.hidden = false;
        input.value = "";
        lead(title); // what had the focus is gone
      };
      // Where no program waits any more, another code may be typed.
      const answer = once(async (/** @type {() => Promise<unknown>} */ send, /** @type {string} */ text) => {
        try {
          await send();
        } catch (error) {
          if (!(error instanceof Refused && error.status === 422)) throw error;
          text = error.message;
        }
        ended(text);
      });
      element.hidden = true;
      place.replaceChildren(h("section", { class: "card" }, asks,
        h("p", { class: "notice caution" }, "Approve only if you have just run ", h("code", {}, "teamvars login"),
          " yourself and your own terminal shows this code. Whoever sent it to you would act as you."),
        h("div", { class: "actions" },
          button("Approve", () => answer(() => told("approve", asked, signal), "Approved. Go back to your terminal."),
            { kind: "primary" }),
          button("Refuse", () => answer(() => send("POST", `${ACTIONS}/deny`, document(asked), { signal }),
            "Refused. The program is told so.")))));
      lead(place.querySelector("h2"));
    },
  },
    field({ label: "Code", control: input, pointer: "/data/attributes/user-code",
      hint: "Your terminal shows it once you run teamvars login. Type no code that somebody sent you." }),
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Go on")));
  return h("section", { class: "narrow" }, title, element, place);
}

/**
 * What somebody is asked: who would act as whom, where from, and until when.
 * @param {Api.LoginResource} shown
 * @param {Promise<import("./signin.js").Account>} account
 * @param {AbortSignal} signal
 */
async function question({ attributes }, account, signal) {
  const who = await account;
  /** @type {Api.OrganizationResource[]} */
  const organizations = await readAll("/organizations", { signal });
  const named = organizations.map((one) => name(one.attributes.name));
  const code = attributes["user-code"];
  /** @type {[string, Child][]} */
  const rows = [
    ["Program", "teamvars, on the command line"],
    ["Host, as it says", name(attributes.host)],
    ...(attributes.address ? [/** @type {[string, Child]} */ (["Asked from", attributes.address])] : []),
    ...(code ? [/** @type {[string, Child]} */ (["Code", h("code", {}, code)])] : []),
    ["As", [name(who.name), " on ", location.host]],
    ["May do", ["all that you may do in ", named.length ? listed(named) : "no organization yet"]],
    ["Until", time(attributes["expires-at"])],
  ];
  return h("div", {}, h(code ? "h2" : "h1", { tabindex: -1 }, "Log in ", name(attributes.host), "?"),
    h("dl", { class: "facts" }, rows.map(([term, said]) => [h("dt", {}, term), h("dd", {}, said)])));
}

/**
 * What answers once: a second answer would void the first. Where it fails, one may answer again.
 * @template {unknown[]} S
 * @param {(...said: S) => Promise<unknown>} act
 */
function once(act) {
  let isAnswered = false;
  return async (/** @type {S} */ ...said) => {
    if (isAnswered) return;
    isAnswered = true;
    try {
      await act(...said);
    } catch (error) {
      isAnswered = false;
      throw error;
    }
  };
}

/** @param {Asked} attributes */
function document(attributes) {
  const said = Object.fromEntries(Object.entries(attributes).filter(([, one]) => one !== null));
  return { data: { type: "logins", attributes: said } };
}

/**
 * What the API says of a program, as it does something with it.
 * @param {"show" | "approve"} action
 * @param {Asked} asked
 * @param {AbortSignal} signal
 */
async function told(action, asked, signal) {
  /** @type {Answer<Api.LoginDocument>} */
  const answer = await send("POST", `${ACTIONS}/${action}`, document(asked), { repeats: action === "show", signal });
  return answer.document.data;
}
