/** The public API: JSON:API documents over `fetch`, with the token of whoever is signed in. */

import { clear, notify, reached, unreached } from "./notices.js";
import * as session from "./session.js";

const MEDIA_TYPE = "application/vnd.api+json";
const PAGE_SIZE = 100;
const ATTEMPTS = 3;
const LONGEST_PAUSE_MS = 5000;
const LACKING = "A part of this page cannot be loaded: the server may have another release by now. Load the page again.";
/**
 * Nothing was changed, or it may be found out by sending the same again under the same key.
 * @type {Set<string | undefined>}
 */
const MAY_REPEAT = new Set([
  "busy", "idempotency_key_in_use", "outcome_unknown", "rate_limited", "storage_unavailable", "too_many_requests",
]);

/**
 * What the API has answered, with its tag.
 * @template D
 * @typedef {{document: D, etag: string | null}} Answer
 */

/**
 * How something is asked for. `repeats`: it changes nothing; `keepalive`: even if the page goes meanwhile; `reviver`: how
 * the answer is parsed.
 * @typedef {{change?: Change, ifMatch?: string | null, ifNoneMatch?: string | null, repeats?: boolean, signal?: AbortSignal,
 *   token?: string, keepalive?: boolean, reviver?: (key: string, value: unknown) => unknown}} Options
 */

/**
 * An error of the API's, or one that is told like one.
 * @typedef {Pick<Api.Error, "detail"> & {code?: Api.Error["code"], title?: string, source?: {pointer?: string | null} | null,
 *   meta?: Api.Error["meta"]}} ErrorObject
 */

/** The API has refused; `errors` are JSON:API's, each with `code`, `detail` and `source`. */
export class Refused extends Error {
  /** @type {number | undefined} */
  retryAfter;

  /**
   * @param {number} status
   * @param {ErrorObject[]} errors
   */
  constructor(status, errors) {
    super(errors.map((one) => one.detail ?? one.title).join(" ") || `The server answered ${status}.`);
    this.status = status;
    this.errors = errors;
  }

  /**
   * Whether one of the errors has that code.
   * @param {Api.Error["code"]} code
   */
  has(code) {
    return this.errors.some((one) => one.code === code);
  }
}

/** No answer came, or one that is not the server's. */
export class Unreachable extends Error {
  /** @param {number} [status] what came in its place */
  constructor(status) {
    super(status ? `Something between here and the server answered in its place (${status}). Nothing you typed is lost.`
      : "The server could not be reached. Nothing you typed is lost; try again in a moment.");
  }
}

/**
 * One change, which happens once however often it is sent: the same document has the same key, until an answer says that it
 * has happened. What has been undone since may then be done again.
 */
export class Change {
  #said = "";
  #key = "";

  /**
   * The key to send `body` under.
   * @param {string} body
   */
  keyOf(body) {
    if (!this.#key || body !== this.#said) [this.#said, this.#key] = [body, newKey()];
    return this.#key;
  }

  /** It has happened. */
  happened() {
    this.#key = "";
  }
}

/**
 * The document there; null where it is still the one with the tag of `options.ifNoneMatch`.
 * @template D
 * @param {string} path below `/api/v2`, or a whole one from a link
 * @param {Options} [options]
 * @returns {Promise<Answer<D>>}
 */
export function read(path, options = {}) {
  return request("GET", path, options);
}

/**
 * A page of a list, what it includes, and how many there are on all of them.
 * @template R, I
 * @typedef {{items: R[], included: I[], next: number | null, total: number}} Page
 */

/**
 * @template R
 * @template [I=never]
 * @param {string} path
 * @param {number} number
 * @param {Options} [options]
 * @returns {Promise<Page<R, I>>}
 */
export async function readPage(path, number, options = {}) {
  const joint = path.includes("?") ? "&" : "?";
  /** @type {Answer<{data: R[], included?: I[], meta: Api.PageMeta}>} */
  const { document } = await request("GET", `${path}${joint}page[number]=${number}&page[size]=${PAGE_SIZE}`, options);
  const { "next-page": next, "total-count": total } = document.meta.pagination;
  return { items: document.data, included: document.included ?? [], next, total };
}

/**
 * The one of that type and id among what an answer includes.
 * @template {{type: string, id: string}} I
 * @template {I["type"]} T
 * @param {I[]} included
 * @param {T} type
 * @param {string} id
 */
export function oneOf(included, type, id) {
  return /** @type {Extract<I, {type: T}> | undefined} */ (included.find((one) => one.type === type && one.id === id));
}

/**
 * Every resource of a list that is never long.
 * @template R
 * @param {string} path
 * @param {Options} [options]
 */
export async function readAll(path, options = {}) {
  /** @type {R[]} */
  const found = [];
  for (let number = /** @type {number | null} */ (1); number; ) {
    /** @type {Page<R, never>} */
    const { items, next } = await readPage(path, number, options);
    found.push(...items);
    number = next;
  }
  return found;
}

/**
 * Of answers to what is asked again and again only that to what was asked last counts: an older one may come later. Each
 * call begins one, and returns what says whether it is still the last.
 */
export function newest() {
  let asked = 0;
  return () => {
    const mine = ++asked;
    return () => mine === asked;
  };
}

/**
 * What `work` reads; null where that cannot be read: it is told then that `what` is not shown, until it is.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 */
export async function orTold(what, work) {
  try {
    const found = await work();
    clear(what);
    return found;
  } catch (error) {
    const isTold = error instanceof Unreachable || (error instanceof Refused && error.status !== 401);
    if (!isTold) throw error; // one signs in, or has left
    notify(what, `${what} is not shown. ${/** @type {Error} */ (error).message}`, { caution: true });
    return null;
  }
}

/**
 * How this server calls the categories of variables, its own first.
 * @param {Options} [options]
 */
export async function categories(options = {}) {
  const answer = await fetched("/", { headers: { Accept: "application/json" }, signal: options.signal });
  /** @type {Answer<Api.Index>} */
  const { document } = answered(answer);
  return document.categories;
}

/**
 * The token of the session that this browser is signed in to.
 * @param {Promise<Response>} taken
 * @returns {Promise<{token: string, session: string}>}
 */
export async function takenSession(taken) {
  /** @type {Answer<{token: string, session: string}>} */
  const { document } = answered(await received(taken));
  return document;
}

/**
 * Links the account that a provider has named, by what this browser has kept of it.
 * @param {string} named the session that the page means
 */
export async function linkAccount(named) {
  const headers = { Accept: "application/json", Authorization: `Bearer ${session.token()}`, "Teamvars-Session": named };
  answered(await fetched("/app/link", { method: "POST", headers, credentials: "same-origin" }));
}

/**
 * Of what somebody says, what is another than it was.
 * @template {object} S
 * @param {S} before
 * @param {S} now
 * @returns {Partial<S>}
 */
export function changed(before, now) {
  const was = new Map(Object.entries(before).map(([one, said]) => [one, JSON.stringify(said)]));
  const others = Object.entries(now).filter(([one, said]) => JSON.stringify(said) !== was.get(one));
  return /** @type {Partial<S>} */ (Object.fromEntries(others));
}

/**
 * Sends a document. With a `change` it is sent again where no answer came, and happens once; what
 * changes nothing `repeats`.
 * @template [D=unknown]
 * @param {"POST" | "PATCH" | "DELETE"} method
 * @param {string} path
 * @param {unknown} document
 * @param {Options} [options]
 * @returns {Promise<Answer<D>>}
 */
export function send(method, path, document, options = {}) {
  return request(method, path, { ...options, body: JSON.stringify(document) });
}

/**
 * Deletes; what is gone already is as good. `options.ifMatch`: only as it was then.
 * @param {string} path
 * @param {Options} [options]
 */
export function remove(path, options = {}) {
  return unlessGone(request("DELETE", path, { ...options, repeats: true }));
}

/**
 * What ends something, and is as good where that is gone already.
 * @param {Promise<unknown>} sent
 */
export async function unlessGone(sent) {
  try {
    await sent;
  } catch (error) {
    if (!(error instanceof Refused && error.status === 404)) throw error;
  }
}

/**
 * @template D
 * @param {string} method
 * @param {string} path
 * @param {Options & {body?: string}} [options]
 * @returns {Promise<Answer<D>>}
 */
async function request(method, path, options = {}) {
  const { body, ifMatch, ifNoneMatch, change, repeats, signal, token, keepalive, reviver } = options;
  const used = token ?? session.token();
  /** @type {Record<string, string>} */
  const headers = { Accept: MEDIA_TYPE, Authorization: `Bearer ${used}` };
  if (body !== undefined) headers["Content-Type"] = MEDIA_TYPE;
  if (ifMatch) headers["If-Match"] = ifMatch;
  if (ifNoneMatch) headers["If-None-Match"] = ifNoneMatch;
  if (change) headers["Idempotency-Key"] = change.keyOf(body ?? "");
  const url = path.startsWith("/api/") ? path : `/api/v2${path}`;
  let attempts = change || repeats || method === "GET" ? ATTEMPTS : 1;
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = answered(await fetched(url, { method, headers, body, signal, keepalive }), reviver);
      change?.happened();
      return answer;
    } catch (error) {
      // Somebody else may have signed in since.
      if (error instanceof Refused && error.status === 401 && token === undefined && used === session.token()) session.end("refused");
      if (attempt === attempts || signal?.aborted || !mayRepeat(error)) throw error;
      if (change && error instanceof Refused && error.has("too_many_requests")) {
        // As many answers are kept for this user as may be. Without a key it is sent this once.
        delete headers["Idempotency-Key"];
        attempts = attempt + 1;
      }
      await pause((error instanceof Refused && error.retryAfter) || attempt * 400);
    }
  }
}

/**
 * @param {string} url
 * @param {RequestInit} options
 */
function fetched(url, options) {
  return received(fetch(url, { credentials: "omit", ...options, cache: "no-store" }), options.signal);
}

/**
 * @param {Promise<Response>} asked
 * @param {AbortSignal | null} [signal]
 */
async function received(asked, signal) {
  try {
    const response = await asked;
    return { response, text: await response.text() };
  } catch (error) {
    if (signal?.aborted) throw error;
    unreached();
    throw new Unreachable();
  }
}

/**
 * Modules that are asked for only when somebody wants them: once the server is known to be there, since a browser may
 * remember for as long as a page is open that one could not be fetched.
 * @template M
 * @param {() => Promise<M>} load
 */
export async function late(load) {
  answered(await fetched("/healthz", {}));
  return loaded(load());
}

/**
 * Modules that a page waits for. Where the server cannot be reached, that is said as of an answer that does not come; where
 * they are missing there, or want of others what these do not have, another release is.
 * @template M
 * @param {Promise<M>} asked
 */
export async function loaded(asked) {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof SyntaxError)) answered(await fetched("/healthz", {})); // browsers do not tell why one did not come
    throw new Refused(0, [{ detail: LACKING }]);
  }
}

/**
 * What the server answers is JSON, with `errors` where it refuses. Anything else is a proxy's, and no answer: it says neither
 * that something is gone nor that a token has ended, and not what has become of a change.
 * @template D
 * @param {{response: Response, text: string}} fetched
 * @param {Options["reviver"]} [reviver]
 * @returns {Answer<D>}
 */
function answered({ response, text }, reviver) {
  const document = parsed(text, reviver);
  const isGood = response.ok || response.status === 304;
  if (isGood ? document === undefined : !Array.isArray(document?.errors)) {
    unreached();
    throw new Unreachable(response.status);
  }
  reached();
  if (isGood) return { document, etag: response.headers.get("ETag") };
  const refused = new Refused(response.status, document.errors);
  const seconds = Number(response.headers.get("Retry-After"));
  if (seconds) refused.retryAfter = Math.min(seconds * 1000, LONGEST_PAUSE_MS);
  throw refused;
}

/**
 * Null where there is no text, and undefined where it is no JSON, or is cut off.
 * @param {string} text
 * @param {Options["reviver"]} [reviver]
 */
function parsed(text, reviver) {
  try {
    return text ? JSON.parse(text, reviver) : null;
  } catch {
    return undefined;
  }
}

/** @param {unknown} error */
function mayRepeat(error) {
  if (error instanceof Unreachable) return true;
  return error instanceof Refused && error.errors.some((one) => MAY_REPEAT.has(one.code));
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** `crypto.randomUUID` is there only where the page came over TLS or from this machine. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (one) => one.toString(16).padStart(2, "0")).join("");
}
