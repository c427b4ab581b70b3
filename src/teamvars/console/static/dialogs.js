/** Dialogs: modal, closed by Escape, and never with what was typed in them unless one says so. */

import { button, h, part, within } from "./dom.js";
import { holdsTyped } from "./fields.js";
import { settleAll } from "./hands.js";

/** @import { Child } from "./dom.js" */

/** @type {HTMLDialogElement[]} */
const open = [];
let made = 0;
let aside = false;
/** Whether what is typed may be lost is asked once at a time: whoever wants to leave again is asked again. */
let asking = new AbortController();
/**
 * Of each, what had the focus in it last.
 * @type {WeakMap<Element, HTMLElement>}
 */
const left = new WeakMap();

/**
 * What the page says beside what one does is said in the dialog that is in front: nobody sees or hears what is behind it, and
 * that takes no click.
 */
function carry() {
  const front = (!aside && open.at(-1)) || document.body;
  const told = part("notices");
  // What is there already would lose the focus, and be read out once more.
  if (told.parentNode !== front) front.append(told, part("announcements"));
}

/**
 * Shows what `content(close)` returns until `close` is called, which it returns, and gives the focus back then.
 * `onclose` is called however it ends, and `text` is read out with the title.
 * @param {Child} title
 * @param {(close: () => void) => Child} content
 * @param {{wide?: boolean, text?: HTMLElement, onclose?: () => void}} how
 */
export function show(title, content, { wide = false, text, onclose } = {}) {
  const id = `dialog-${++made}`;
  const heading = h("h2", { id, tabindex: -1 }, title);
  const dialog = h("dialog", { class: wide && "wide", "aria-labelledby": id, "aria-describedby": text && `${id}-text` });
  if (text) text.id = `${id}-text`;
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const close = () => {
    if (!open.includes(dialog)) return;
    open.splice(open.indexOf(dialog), 1);
    carry();
    dialog.remove();
    settleAll();
    (before?.checkVisibility() ? before : document.querySelector("h1"))?.focus();
    onclose?.();
  };
  const leave = async () => {
    if (await mayLose(dialog)) close();
  };
  dialog.addEventListener("cancel", (event) => {
    if (!event.cancelable) return; // browsers close on a second Escape, whatever the page says
    event.preventDefault();
    leave();
  });
  dialog.addEventListener("close", () => {
    if (aside || !open.includes(dialog)) return;
    if (holdsTyped(dialog)) showAgain(dialog);
    leave();
  });
  dialog.addEventListener("focusin", ({ target }) => left.set(dialog, /** @type {HTMLElement} */ (target)));
  dialog.append(heading, h("div", {}, content(close)));
  part("main").append(dialog);
  open.push(dialog);
  dialog.showModal();
  carry();
  settleAll();
  const [first = heading] = ["[autofocus]", "textarea, input:not([type=radio])"].flatMap((one) => [...within(dialog, one)]);
  first.focus();
  return close;
}

/**
 * Leads to the heading of the dialog that this is in, where no second press acts on what nobody has seen yet.
 * @param {Element} element
 */
export function headed(element) {
  element.closest("dialog")?.querySelector("h2")?.focus();
}

/**
 * Asks, and says whether the answer was yes; `more` is what to read before. Nobody is asked any more once `over` is aborted.
 * @param {Child} title
 * @param {Child} text
 * @param {string} yes
 * @param {{kind?: string, no?: string, more?: Child, over?: AbortSignal}} how
 * @returns {Promise<boolean>}
 */
export function ask(title, text, yes, { kind = "primary", no = "Cancel", more = null, over } = {}) {
  return new Promise((resolve) => {
    let said = false;
    const told = h("p", {}, text);
    const content = (/** @type {() => void} */ close) => [told, more, h("div", { class: "actions" },
      button(yes, () => {
        said = true;
        close();
      }, { kind }),
      button(no, close))];
    const close = show(title, content, { wide: more !== null, text: told, onclose: () => resolve(said) });
    over?.addEventListener("abort", close);
  });
}

/**
 * Whether what is typed there may be lost: nothing is, or somebody says so. Who is asked as it is saved stays, to see that.
 * @param {Element} element
 */
export async function mayLose(element) {
  if (!holdsTyped(element)) return true;
  const isSent = element.matches("[data-sent]") || element.querySelector("[data-sent]");
  const text = isSent ? "It was sent, and may be saved all the same." : "It has not been saved.";
  asking.abort();
  const over = asking = new AbortController();
  const watching = new MutationObserver(() => {
    if (!element.isConnected || !holdsTyped(element)) over.abort();
  });
  watching.observe(part("main"), { attributeFilter: ["data-typed"], childList: true, subtree: true });
  const may = await ask("Leave what you typed?", text, "Leave it", { kind: "danger", no: "Stay", over: over.signal });
  watching.disconnect();
  return may;
}

/** Hides all of them, with what they hold, until `bringBack`. */
export function putAside() {
  aside = true;
  carry();
  for (const dialog of open) dialog.close();
}

export function bringBack() {
  aside = false;
  for (const dialog of open) showAgain(dialog);
  carry();
}

/**
 * With the focus where it was.
 * @param {HTMLDialogElement} dialog
 */
function showAgain(dialog) {
  const at = left.get(dialog);
  dialog.showModal();
  at?.focus();
}

/** Ends all of them. */
export function endAll() {
  aside = false;
  const ended = open.splice(0);
  carry();
  for (const dialog of ended) dialog.remove();
}
