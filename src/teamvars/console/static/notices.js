/**
 * What the page has to say beside what one does: lines at the foot of the window, one of each kind.
 *
 * They cover nothing that has the focus, and take no key: whoever types goes on typing. In front of a dialog they are in it, at
 * its end (`dialogs.js`), and move nothing elsewhere.
 */

import { button, h, icon, part, shown } from "./dom.js";
import { settleAll } from "./hands.js";

const POLL_MS = 2000;
const PATIENCE_MS = 10_000;
const SELDOM_MS = 30_000;
const UNFORESEEN = "This page has failed. The server may have another release by now: load the page again.";
/** @type {Map<string, {line: Element, stays: boolean}>} */
const lines = new Map();
/** @type {ReturnType<typeof setInterval> | null} */
let waiting = null;
let isLooking = false;
let toldAt = -Infinity;

/**
 * Says it, in the place of the last line of that kind.
 * @param {string} kind
 * @param {import("./dom.js").Child} content
 * @param {{caution?: boolean, stays?: boolean, acts?: import("./dom.js").Child}} how `caution`: something is wrong; `stays`: until it is
 *   cleared, while others can be closed, and end with the page they are about
 */
export function notify(kind, content, { caution = false, stays = false, acts = [] } = {}) {
  clear(kind);
  const line = h("div", { class: `notice${caution ? " caution" : ""}` },
    caution && icon("warning"), h("p", {}, typeof content === "string" ? shown(content) : content), acts,
    !stays && button("Close", () => clear(kind), { kind: "bare", "aria-label": "Close this notice" }));
  lines.set(kind, { line, stays });
  part("notices").append(line);
  if (line.closest("dialog")) settleAll(); // it makes room for the line
}

/**
 * Takes the line of that kind away; whoever has pressed its button is led to the page.
 * @param {string} kind
 */
export function clear(kind) {
  const line = lines.get(kind)?.line;
  const hadFocus = line?.contains(document.activeElement);
  /** @type {HTMLElement | null | undefined} */
  const heading = line?.closest("dialog")?.querySelector("h2") ?? document.querySelector("h1");
  line?.remove();
  lines.delete(kind);
  if (hadFocus) heading?.focus({ preventScroll: true });
}

/** Takes away what is about a page that was left. */
export function leavePage() {
  for (const [kind, { stays }] of lines) if (!stays) clear(kind);
}

/**
 * Something has failed that was asked for in passing, and has no form to say it.
 * @param {Error} error
 */
export function failed(error) {
  notify("failed", inWords(error), { caution: true });
}

/**
 * What an error says to whoever looks. One that is the browser's own has a name of its own and says nothing to them: the
 * page has met what it was not made for.
 * @param {{message: string, name?: string}} error
 */
export function inWords({ message, name = "Error" }) {
  return name === "Error" ? message : UNFORESEEN;
}

/**
 * To be called when the server has answered. Where it had not, pages that may lack something by now hear "reached": seldom, since
 * what each asks for then may be kept back by something that answers in the server's place.
 */
export function reached() {
  if (waiting === null) return;
  clearInterval(waiting);
  waiting = null;
  clear("connection");
  const now = performance.now();
  if (toldAt > now) return; // they are about to hear it
  const wait = Math.max(toldAt + SELDOM_MS - now, 0);
  toldAt = now + wait;
  setTimeout(() => document.dispatchEvent(new Event("reached")), wait);
}

/**
 * Has a page act whenever somebody comes back to it, or the server is back: others may have changed what it shows.
 * @param {() => unknown} act
 * @param {AbortSignal} signal ends with the page
 */
export function whenBack(act, signal) {
  for (const kind of ["visibilitychange", "reached"]) document.addEventListener(kind, () => document.hidden || act(), { signal });
}

/** To be called when no answer has come; from then on it is tried until one does. */
export function unreached() {
  if (waiting !== null) return;
  notify("connection", "The server cannot be reached. What you typed stays here; trying again …",
    { caution: true, stays: true });
  waiting = setInterval(() => look().catch(() => {}), POLL_MS);
}

/**
 * Whether it is there by now, asked one at a time: what nobody answers would keep back all that is asked for later. A page that
 * something else answers is no JSON.
 */
async function look() {
  if (isLooking) return;
  isLooking = true;
  try {
    const response = await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.ok && (await response.json())) reached();
  } finally {
    isLooking = false;
  }
}
