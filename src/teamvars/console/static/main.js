/** The console starts here: who is signed in, the head of each page, and which page it is. */

import { loaded, Refused, remove, Unreachable } from "./api.js";
import * as dialogs from "./dialogs.js";
import { button, h, icon, name, nodes, part, time, within } from "./dom.js";
import { holdsTyped } from "./fields.js";
import { fieldInUse, isLeft, lead, settleAll, watchHands } from "./hands.js";
import { watchKeys } from "./keyboard.js";
import { clear, failed, inWords, leavePage, notify } from "./notices.js";
import { address, PAGES, ROOT } from "./pages.js";
import { takeUp } from "./providers.js";
import * as session from "./session.js";
import { accountOf, signInForm } from "./signin.js";

const main = part("main");
const page = h("div", { id: "page" });
/** When it is printed, on what is. */
const printed = h("p", { class: "printed" });
const LOADING_MS = 200;
const NOWHERE = { organization: "", workspace: "", team: "", project: "", varset: "" };

/** @import { Context, MakesPage } from "./pages.js" */

/** @typedef {Pick<Context, "organization" | "workspace" | "team" | "project" | "varset">} Names */

/** @type {import("./signin.js").Account | null} */
let account = null;
let leaving = new AbortController();

/**
 * Shows the page of a path; a former one goes, unless somebody would rather stay.
 * @param {string} path
 * @param {{replace?: boolean}} [how]
 */
async function go(path, { replace = false } = {}) {
  if (holds() && !(await dialogs.mayLose(main))) return;
  // As browsers do: to where one is already, it is no step that one would go back.
  const isHere = path === location.pathname + location.search;
  history.replaceState({ top: scrollY }, "");
  history[replace || isHere ? "replaceState" : "pushState"](null, "", path);
  await render();
  if (!isHere) scrollTo(0, 0);
  lead(document.querySelector("h1"));
}

/** Whether something typed would be lost: what is on a page that one has left already is lost. */
function holds() {
  return !isLeft(page) && holdsTyped(main);
}

/** What the page that is shown has asked for comes to nothing. */
function depart() {
  leaving.abort();
  page.toggleAttribute("data-left", true);
}

async function render() {
  depart();
  leaving = new AbortController();
  dialogs.endAll();
  leavePage();
  address.arrive();
  const { signal } = leaving;
  const [make, names] = pageOf(location.pathname);
  const waiting = sayLoading();
  signal.addEventListener("abort", () => clearTimeout(waiting));
  const query = new URLSearchParams(location.search);
  // Who one is, and what the page shows, are asked for together.
  const asked = account ? Promise.resolve(account) : accountOf().then((found) => {
    if (!signal.aborted) account = found;
    return found;
  });
  // What was asked on a page that one has left leads nowhere, and opens no question over whoever has gone on to type there.
  /** @type {typeof go} */
  const goOn = async (...how) => {
    if (!signal.aborted && !(holds() && fieldInUse())) await go(...how);
  };
  /** @type {HTMLElement | null} */
  let content;
  try {
    [content] = await Promise.all([make({ ...names, account: asked, signal, go: goOn, query }), asked]);
  } catch (error) {
    content = failure(error);
    await asked.catch(() => {});
  }
  clearTimeout(waiting);
  if (signal.aborted || session.token() === null) return;
  page.replaceChildren(...nodes(content));
  page.removeAttribute("data-left");
  head(names);
  settleAll();
}

/** Whoever waits for long reads that, unless what is returned is cleared. */
function sayLoading() {
  return setTimeout(() => page.replaceChildren(h("p", { class: "hint" }, "Loading …")), LOADING_MS);
}

/**
 * What makes the page of a path, and the names in it.
 * @param {string} path
 * @returns {[MakesPage, Names]}
 */
function pageOf(path) {
  const trimmed = path.replace(/\/$/, "") || ROOT;
  for (const [pattern, load] of PAGES) {
    const found = pattern.exec(trimmed);
    if (found) return [async (context) => (await loaded(load()))(context), namesOf(found)];
  }
  return [async () => failure(new Refused(404, [])), NOWHERE];
}

/**
 * Those that the path has.
 * @param {RegExpExecArray} found
 * @returns {Names}
 */
function namesOf({ groups }) {
  return { ...NOWHERE, ...groups };
}

/** @param {unknown} error */
function failure(error) {
  if (!(error instanceof Error)) throw error;
  const isMissing = error instanceof Refused && error.status === 404;
  const [title, text] = isMissing
    ? ["Nothing here", "There is nothing at this address, or nothing that you may see."]
    : ["That did not work", inWords(error)];
  return h("section", { class: "empty" }, h("h1", { tabindex: -1 }, title), h("p", {}, text),
    h("div", { class: "actions" },
      // A browser may remember that a module could not be fetched, until the page is loaded again.
      !isMissing && button("Try again", () => location.reload(), { kind: "primary" }),
      h("a", { class: "button", href: ROOT }, "All organizations")));
}

/**
 * The head of the page, and the title of the window: where one is, and who one is. What has an id in its path is called as
 * its page calls it.
 * @param {Names} [names]
 */
function head({ organization, workspace, ...named } = NOWHERE) {
  /** @type {[string, string][]} */
  const trail = [];
  const [noun, id] = Object.entries(named).find(([, one]) => one) ?? [];
  const list = `${ROOT}/${organization}/${noun ? `${noun}s` : "workspaces"}`;
  const called = noun && page.querySelector(".workspace-head h1")?.textContent;
  if (organization) trail.push([list, organization]);
  if (workspace) trail.push([`${list}/${workspace}`, workspace]);
  if (called) trail.push([`${list}/${id}`, called]);
  const links = trail.map(([href, text]) => h("li", {}, h("a", { href }, name(text))));
  const you = account && h("nav", { "aria-label": "You", class: "you" },
    h("span", { class: "who" }, name(account.name)),
    account.isUser && h("a", { class: "button bare", href: `${ROOT}/settings/tokens` }, icon("token"), "Tokens"),
    button("Sign out", signOut, { kind: "bare", picture: "out" }));
  part("header").replaceChildren(
    h("a", { class: "brand", href: `${ROOT}/` }, mark(), "teamvars"),
    h("nav", { "aria-label": "Where you are", class: "trail" }, links.length > 0 && h("ol", {}, links)),
    printed, ...(you ? [you] : []));
  const said = within(page, "h1, .pages [aria-current]").map((one) => one.textContent);
  document.title = [...said, "teamvars"].join(" · ");
}

/** Of a session, in all tabs: its token ends. Where that cannot be done, all stays as it is. */
async function signOut() {
  if (!session.named()) return session.end("left");
  await Promise.all([...session.before].map((act) => act()));
  await session.endAfter(remove(`/authentication-tokens/${session.named()}`));
}

function mark() {
  return h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: 24, height: 24 });
}

/**
 * Whoever leaves, or stays away, leaves nothing here: not even what is not seen.
 * @param {session.Reason} reason
 */
function leave(reason) {
  if (reason === "refused" || reason === "unseen") {
    leavePage();
    return askToSignIn(reason);
  }
  depart();
  dialogs.endAll();
  for (const place of document.body.children) place.replaceChildren();
  // Whoever comes next may see another page.
  location.replace(reason === "left" ? `${ROOT}/` : location.pathname + location.search);
}

/**
 * Instead of the page. What somebody has typed there waits, unseen, until they have another token.
 * @param {session.Reason} reason
 */
function askToSignIn(reason) {
  const before = account;
  const kept = holds();
  const at = fieldInUse();
  account = null;
  page.hidden = true;
  if (kept) dialogs.putAside();
  else {
    depart();
    dialogs.endAll();
    page.replaceChildren();
  }
  head();
  document.title = "Sign in · teamvars";
  const section = signInForm(reason, kept ? before : null, async (found) => {
    account = found;
    section.remove();
    page.hidden = false;
    if (kept && !isLeft(page) && found.id === before?.id) {
      head(pageOf(location.pathname)[1]);
      dialogs.bringBack();
    } else {
      page.replaceChildren(); // nobody else sees what was typed
      await render();
    }
    (at?.isConnected ? at : document.querySelector("h1"))?.focus();
  });
  main.append(section);
  // The letters of whoever was typing are for no other field.
  within(section, at ? "h1" : "[type=password]")[0]?.focus();
}

/**
 * Any key or click is an answer, and so is that of the button.
 * @param {boolean} does
 */
function askToStay(does) {
  if (!does) return clear("idle");
  notify("idle", "In two minutes you are signed out, since there was no key and no click.",
    { caution: true, stays: true, acts: button("Stay signed in", () => clear("idle")) });
}

/** @param {MouseEvent} event */
function follow(event) {
  const target = /** @type {Partial<Element> | null} */ (event.target);
  const link = /** @type {HTMLAnchorElement | null | undefined} */ (target?.closest?.("a[href]"));
  const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || link.target || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(ROOT) || link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
}

async function goBack() {
  const wanted = location.pathname + location.search;
  if (wanted === address.shown) return;
  if (!holds()) {
    if (session.token() === null) return address.arrive(); // whoever signs in then sees that page
    await render();
    scrollTo(0, address.top);
    return lead(document.querySelector("h1"));
  }
  history.pushState(null, "", address.shown); // stays where it was until it is clear that one leaves
  if (session.token() !== null) await go(wanted);
}

/**
 * What went wrong and has no field or form to be told at: never in front of a form that somebody types in.
 * @param {PromiseRejectionEvent} event
 */
function complain(event) {
  const error = event.reason;
  const isLeft = error?.name === "AbortError" || error?.status === 401; // one has gone, or signs in
  if (isLeft || error instanceof Refused || error instanceof Unreachable) event.preventDefault(); // nothing for the browser's log
  if (!isLeft && error instanceof Error) failed(error);
}

async function start() {
  main.replaceChildren(page);
  document.addEventListener("click", follow);
  watchHands();
  watchKeys(main);
  addEventListener("popstate", goBack);
  // Forward leads to where one was as well: a page that one has gone back from is not asked any more.
  addEventListener("scrollend", () => isLeft(page) || history.replaceState({ top: scrollY }, ""));
  addEventListener("unhandledrejection", complain);
  addEventListener("beforeprint", () => printed.replaceChildren("Printed ", time(new Date().toISOString())));
  addEventListener("beforeunload", (event) => holds() && event.preventDefault());
  // Going back, a browser may show a document again that was left.
  addEventListener("pageshow", (event) => event.persisted && session.token() === null && location.reload());
  session.onEnd(leave);
  const waiting = sayLoading();
  const reason = await takeUp();
  clearTimeout(waiting);
  session.watch({ ask: askToStay, holds });
  if (session.token() === null) return askToSignIn(reason);
  await render();
  scrollTo(0, address.top);
}

start();
