/**
 * Where somebody's hands are: nothing takes the focus from whoever types, and what has just come under a finger takes
 * no click and no key that was meant for what was there before.
 */

import { h } from "./dom.js";

/** Longer than a double click takes, and shorter than anybody needs to see what has moved. */
const MOMENT_MS = 300;
/** Whoever has typed a letter so lately is still typing. */
const BURST_MS = 1000;
const TEXT = "input:not([type=checkbox], [type=radio], [type=file]), textarea";

let typed = 0;
let typedAt = -Infinity;
/** @type {EventTarget | null} */
let heldIn = null;

/** Follows them on this page. */
export function watchHands() {
  document.addEventListener("input", () => {
    typed += 1;
    typedAt = performance.now();
  }, true);
  document.addEventListener("pointerdown", () => leaveOff(), true);
  document.addEventListener("keydown", (event) => {
    const { key, repeat, target } = event;
    if (key === "Tab" || key === "Escape" || key === "Enter") leaveOff();
    // It was for a field that has gone: a page that is scrolled for it moves away from under a finger.
    if (key === " " && isTyping() && /** @type {Element} */ (target).matches("h1, h2, main, body")) event.preventDefault();
    if (!repeat) heldIn = target;
    else if (target !== heldIn && (key.length === 1 || key === "Enter")) {
      event.preventDefault(); // it was pressed for something else
      event.stopImmediatePropagation();
    }
  }, true);
  // It takes no focus from a field either.
  document.addEventListener("mousedown", (event) => {
    if (/** @type {Element} */ (event.target).matches(".veil")) event.preventDefault();
  }, true);
}

function leaveOff() {
  typedAt = -Infinity;
}

/** Whether somebody is in the middle of a word, wherever the focus is now. */
export function isTyping() {
  return performance.now() - typedAt < BURST_MS;
}

/**
 * The field that somebody may type in, if the focus is in one that is not in `beside`.
 * @param {Element | null} [beside]
 */
export function fieldInUse(beside) {
  const at = /** @type {HTMLElement | null} */ (document.activeElement);
  return at?.matches(TEXT) && !beside?.contains(at) ? at : null;
}

/**
 * Notes where the hands are. What is returned says whether they are still there, or at least in no field, and in no dialog
 * that has opened since, such as by the second of two clicks.
 */
export function stay() {
  const [at, then, over] = [document.activeElement, typed, dialogs()];
  return () => dialogs() === over && (!fieldInUse() || (document.activeElement === at && typed === then));
}

function dialogs() {
  return document.querySelectorAll("dialog[open]").length;
}

/**
 * Whether one has left what an element is in: it is gone, or its page is left, which is seen until another one is there.
 * @param {Element} element
 */
export function isLeft(element) {
  return !element.isConnected || element.closest("[data-left]") !== null;
}

/**
 * Puts the focus on an element, where nobody has gone on to type elsewhere than in `from`. Nothing scrolls, unless it is a field:
 * whoever types there sees it, and what is said of it.
 * @param {HTMLElement | null | undefined} element
 * @param {Element | null} [from]
 */
export function lead(element, from) {
  if (fieldInUse(from)) return;
  element?.focus({ preventScroll: true });
  element?.closest(".field")?.scrollIntoView({ block: "nearest" });
}

/**
 * Lets an element take no click for a moment, nor those behind it up to a `last` one, since others were there when the
 * finger began to move. Where they are is known once all that is drawn with them is: what stands above may be drawn later.
 * @param {Element} element
 */
export function settle(element, last = element) {
  queueMicrotask(() => {
    const [{ left, top, right }, { bottom }] = [element, last].map((one) => one.getBoundingClientRect());
    const veil = cover(element.closest("dialog"));
    veil.style.position = "absolute"; // as it may be scrolled
    const within = veil.getBoundingClientRect();
    // By its sides: a window that gets narrower meanwhile is not wider inside for it.
    veil.style.inset = `${top - within.top}px ${within.right - right}px auto ${left - within.left}px`;
    veil.style.height = `${bottom - top}px`;
  });
}

/**
 * The same of what comes at the end of a list as `more` is done, and of nothing else: what one reads there takes clicks.
 * @param {Element} list
 * @param {() => unknown} more
 */
export async function settleNew(list, more) {
  const many = list.childElementCount;
  await more();
  const first = list.children[many];
  if (first) settle(first, list.children[list.childElementCount - 1]);
}

/** The same of all that is seen: another page is there, or a form or a dialog has come or gone. */
export function settleAll() {
  cover([...document.querySelectorAll("dialog[open]")].at(-1));
}

/**
 * Puts a veil in front of it for a moment: of what takes no click itself, a browser looks at all that is in it, which takes
 * seconds where that is long.
 * @param {Element | null | undefined} dialog the one that it is in
 */
function cover(dialog) {
  const veil = h("div", { class: "veil" });
  (dialog ?? document.body).append(veil);
  setTimeout(() => veil.remove(), MOMENT_MS);
  return veil;
}
