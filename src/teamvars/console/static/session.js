/**
 * Who is signed in: the token, for this tab alone.
 *
 * One that was pasted is in `sessionStorage`, which ends with the tab and which no other tab reads, so
 * that loading a page again does not sign out. Of a session with a provider only the id is there: the
 * browser has a cookie, by which each page is given the token anew. The page waits for that and for
 * its modules: so this one needs no other, and asks while these are still on their way.
 */

const PLACE = "teamvars.session";
const IDLE_MS = 30 * 60 * 1000;
/** So long before that, one is asked whether to stay. */
const ASKED_MS = 2 * 60 * 1000;
const NOTED_MS = 5 * 1000;
const LOOKED_MS = 10 * 1000;

/** Why nobody is signed in, in words for whoever looks at the form. */
export const REASONS = {
  none: "",
  left: "You are signed out.",
  idle: "You were signed out after 30 minutes without a key or a click.",
  unseen: "You were signed out: nobody used this tab for 30 minutes, nor saw that it asked.",
  another: "Somebody has signed in again in this browser since. Load the page again to go on as them.",
  again: "",
  refused: "The token is no longer valid: it has expired, was revoked, or its owner is disabled.",
};

/** @typedef {keyof typeof REASONS} Reason */

/** What keeps something for this tab; undefined where the browser lets no page keep anything. */
export const storage = kept();

/** @type {string | null} */
let secret = null;
/** The session that it is of, if it is one's. */
let sessionId = "";
let seenAt = 0;
let isAsked = false;
let isAskedInSight = false;
let isLeaving = false;
/** @type {Set<(reason: Reason) => unknown>} */
const ended = new Set();
/**
 * What is done with the token before it ends, as it does when somebody signs out of a session.
 * @type {Set<() => Promise<unknown>>}
 */
export const before = new Set();

/** The token; null where nobody is signed in. */
export function token() {
  return secret;
}

/** The id of the session that this tab is signed in to, or was before it was loaded again; "": of none. */
export function named() {
  return sessionId;
}

/**
 * Why nobody is signed in, of what this tab has kept, as the page begins.
 * @type {Reason}
 */
export const begun = resume();

/**
 * What is answered about the session of this browser; null where the tab needs none, or there can be none: a tab that keeps
 * nothing would not know that it has idled, and be signed in again.
 */
export const taken = storage && ["none", "again"].includes(begun) && document.getElementById("main")?.dataset.providers !== "{}"
  ? take(sessionId) : null;

/**
 * Asks for the token of the session of this browser, by the only request that carries a cookie.
 * @param {string} named the session that is meant; "" if it may be any
 */
export function take(named) {
  const headers = { Accept: "application/json", "Teamvars-Session": named };
  const answer = fetch("/app/session", { method: "POST", headers, credentials: "same-origin", cache: "no-store" });
  answer.catch(() => {}); // it is told to whoever waits for it
  return answer;
}

/**
 * Takes up what this tab has kept, unless it idled for too long; returns why, where nobody is signed in.
 * @returns {Reason}
 */
function resume() {
  const found = JSON.parse(storage?.getItem(PLACE) ?? "{}");
  const isFresh = Date.now() - found.seenAt < IDLE_MS;
  if (found.token && isFresh) begin(found.token);
  else storage?.removeItem(PLACE);
  if (found.session && isFresh) sessionId = found.session;
  if (found.session) return isFresh ? "again" : "idle";
  return found.token ? "idle" : found.ended ?? "none";
}

function kept() {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

/**
 * Signs in with a token, which somebody else has found to be good, perhaps that of a session.
 * @param {string} text
 * @param {string} [id]
 */
export function begin(text, id = "") {
  secret = text;
  sessionId = id;
  seenAt = Date.now();
  isAsked = isAskedInSight = false;
  keep();
}

/**
 * Signs out; whoever listens is told why, a word of `REASONS`.
 * @param {Reason} reason
 */
export function end(reason) {
  if ((secret === null && reason !== "idle") || (isLeaving && reason === "refused")) return;
  secret = null;
  if (reason === "refused" || reason === "unseen") storage?.removeItem(PLACE);
  else {
    seenAt = 0;
    storage?.setItem(PLACE, JSON.stringify({ ended: reason }));
  }
  for (const listener of ended) listener(reason);
}

/**
 * Signs out once `ending` has ended the token, and not where that fails. What is refused meanwhile is not told: the token has
 * not ended by itself.
 * @param {Promise<unknown>} ending
 * @param {Reason} [otherwise] why, where the token had ended before
 */
export async function endAfter(ending, otherwise = "left") {
  /** @type {Reason} */
  let reason = "left";
  isLeaving = true;
  try {
    await ending;
  } catch (error) {
    if (/** @type {{status?: number}} */ (error).status !== 401) throw error;
    reason = otherwise;
  } finally {
    isLeaving = false;
  }
  end(reason);
}

/**
 * Calls `listener(reason)` whenever somebody is signed out.
 * @param {(reason: Reason) => unknown} listener
 */
export function onEnd(listener) {
  ended.add(listener);
}

/**
 * Signs out once nobody has touched a key, a button or the page for a while, also where a token was refused.
 * @typedef {{ask: (does: boolean) => void, holds: () => boolean}} Page
 * @param {Page} page `ask(true)` offers to stay, two minutes before, and
 *   `ask(false)` no more. Where nobody saw that, since the machine slept or another tab was in front, and the page
 *   `holds` something typed, the reason is "unseen".
 */
export function watch(page) {
  const look = () => judge(page);
  const note = () => {
    look();
    if (seenAt === 0 || Date.now() - seenAt < NOTED_MS) return;
    seenAt = Date.now();
    if (isAsked) page.ask(false);
    isAsked = isAskedInSight = false;
    if (secret !== null) keep();
  };
  for (const kind of ["keydown", "pointerdown", "wheel", "input", "click"]) {
    document.addEventListener(kind, note, { passive: true, capture: true });
  }
  document.addEventListener("visibilitychange", look);
  setInterval(look, LOOKED_MS);
}

function keep() {
  const what = sessionId ? { session: sessionId } : { token: secret };
  storage?.setItem(PLACE, JSON.stringify({ ...what, seenAt }));
}

/** @param {Page} page */
function judge({ ask, holds }) {
  const now = Date.now();
  const idle = now - seenAt;
  if (seenAt === 0 || idle < IDLE_MS - ASKED_MS) return;
  if (idle >= IDLE_MS && secret !== null && !isAskedInSight && holds()) {
    seenAt = now; // what was typed waits as long again, for them to sign in
    end("unseen");
  } else if (idle >= IDLE_MS) end("idle");
  else if (secret !== null) {
    if (!isAsked) ask(true);
    isAsked = true;
    isAskedInSight ||= !document.hidden;
  }
}
