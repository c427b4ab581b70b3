/** Draws a list anew, in place: what is still there keeps its focus, caret, selection and scrolling. */

import { within } from "./dom.js";
import { settle } from "./hands.js";

/** @typedef {{seen: unknown, element: Element}} Drawn */

/**
 * Of each list, what it is made of, by key.
 * @type {WeakMap<Element, Map<string, Drawn>>}
 */
const lists = new WeakMap();
const FOCUSABLE = "button, a[href], input, textarea";

/**
 * Shows these as the children of `parent`, in this order. An element stays as long as its key is wanted and `seen`
 * is the same; else it is made. What has the focus is never taken out of the document while it stays: others move
 * around it. Where the element with the focus is made anew, what is called the same in it has the focus then; where it
 * is gone, the page's heading has: never something else that a key would press.
 * @param {Element} parent
 * @param {{key: string, seen: unknown, make: () => Element}[]} wanted `seen` is all that an element shows
 */
export function redraw(parent, wanted) {
  /** @type {Map<string, Drawn>} */
  const before = lists.get(parent) ?? new Map();
  /** @type {Map<string, Drawn>} */
  const after = new Map();
  for (const { key, seen, make } of wanted) {
    const kept = before.get(key);
    after.set(key, kept && kept.seen === seen ? kept : { seen, element: make() });
  }
  lists.set(parent, after);
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  const called = focused ? nameOf(focused) : ""; // what is taken out has no label
  const elements = [...after.values()].map((one) => one.element);
  place(parent, elements, elements.find((one) => one.contains(focused)));
  // Whoever types does not click at the same time, and has seen what each key does.
  if (window.event?.type !== "input" && hasMoved([...before.values()], elements)) settle(parent);
  if (focused && !focused.isConnected) {
    const [key = ""] = [...before].find(([, { element }]) => element.contains(focused)) ?? [];
    focusOn(after.get(key)?.element, called);
  }
}

/**
 * Whether what was there is anywhere else now, or something else is there.
 * @param {Drawn[]} before
 * @param {Element[]} elements
 */
function hasMoved(before, elements) {
  return before.some((one, at) => one.element !== elements[at]);
}

/**
 * Puts the elements into the parent, and takes all others out; the one that is held is not touched.
 * @param {Element} parent
 * @param {Element[]} elements
 * @param {Element | undefined} held
 */
function place(parent, elements, held) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  const at = held ? elements.indexOf(held) : -1;
  for (let i = at - 1; i >= 0; i--) {
    if (elements[i].nextSibling !== elements[i + 1]) move(parent, elements[i], elements[i + 1]);
  }
  for (let i = at + 1; i < elements.length; i++) {
    const next = i > 0 ? elements[i - 1].nextSibling : parent.firstChild;
    if (next !== elements[i]) move(parent, elements[i], next);
  }
}

/**
 * Where a browser can, without what is scrolled in it starting again.
 * @param {Element} parent
 * @param {Element} element
 * @param {Node | null} next
 */
function move(parent, element, next) {
  if (element.parentNode === parent && parent.moveBefore) parent.moveBefore(element, next);
  else parent.insertBefore(element, next);
}

/**
 * @param {Element | undefined} element
 * @param {string} called
 */
function focusOn(element, called) {
  const twin = element && within(element, FOCUSABLE).find((one) => nameOf(one) === called);
  (twin ?? document.querySelector("h1"))?.focus({ preventScroll: true });
}

/** @param {Element} element */
function nameOf(element) {
  const { labels } = /** @type {Partial<HTMLInputElement>} */ (element);
  return element.getAttribute("aria-label") ?? labels?.[0]?.textContent ?? element.textContent;
}
