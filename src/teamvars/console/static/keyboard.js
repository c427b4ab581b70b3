/** Single keys that act, while nobody types: they never take a letter from a field, not even from one that has just gone. */

import { mayLose, show } from "./dialogs.js";
import { button, h, within } from "./dom.js";
import { tick } from "./fields.js";
import { isTyping } from "./hands.js";

const KEYS = [
  ["/", "Search"], ["n", "Add or make one"], ["↓ ↑", "Go through the list"], ["Enter", "Open what has the focus"],
  ["Escape", "Close the form or the dialog"], ["Ctrl + Enter", "Send the form"], ["?", "Show these keys"],
];
const ITEMS = ".rows > li, .variables > tbody > tr";
let areOn = true;

/**
 * Listens for them on the page that is in `main`.
 * @param {HTMLElement} main
 */
export function watchKeys(main) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const act = event.key === "Escape" ? leaves(target) : actOf(event.key, target, main);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/**
 * @param {string} key
 * @param {HTMLElement} target
 * @param {HTMLElement} main
 */
function actOf(key, target, main) {
  const isArrow = key === "ArrowDown" || key === "ArrowUp";
  const isSearch = target.matches("input[type=search]");
  const isElsewhere = target.closest("form, input, textarea, [tabindex='0']"); // what scrolls by itself goes on to
  if (isArrow && (isSearch || !isElsewhere)) return step(main, target, key === "ArrowDown" ? 1 : -1);
  if (!areOn || isTyping() || target.closest("input, textarea")) return null;
  if (key === "/") return seen(main, "input[type=search]", (one) => one.focus());
  // Where a form is open, whoever thinks to type in it would open another.
  if (key === "n" && !main.querySelector("form")) return seen(main, "[data-adds]", press);
  return key === "?" ? explain : null;
}

/**
 * @param {HTMLElement} main
 * @param {string} selector
 * @param {(found: HTMLElement) => unknown} act
 */
function seen(main, selector, act) {
  const found = within(main, selector).find((one) => one.checkVisibility());
  return found ? () => act(found) : null;
}

/**
 * As a key does on what has the focus, where one is led back to.
 * @param {HTMLElement} button
 */
function press(button) {
  button.focus();
  button.click();
}

/**
 * To the next item of the list, or the one before; from elsewhere to the first.
 * @param {HTMLElement} main
 * @param {HTMLElement} target
 * @param {1 | -1} by
 */
function step(main, target, by) {
  const items = within(main, ITEMS);
  const at = items.findIndex((one) => one.contains(target));
  const way = at < 0 ? items : by > 0 ? items.slice(at + 1) : items.slice(0, at).reverse();
  const next = way.find((one) => one.checkVisibility() && controlOf(one)); // of thousands, as few as can be are looked at
  return next ? () => controlOf(next)?.focus() : null;
}

/** @param {Element} item */
function controlOf(item) {
  return within(item, "a[href], button").at(0);
}

/**
 * Leaves the form that one is in, as its button does, unless somebody would rather stay.
 * @param {HTMLElement} target
 */
function leaves(target) {
  const form = target.closest("form");
  const [way] = form ? within(form, "[data-leaves]") : [];
  return form && way ? async () => (await mayLose(form)) && way.click() : null;
}

function explain() {
  show("Keys", (close) => h("div", {},
    h("dl", { class: "keys" }, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    tick({ label: "Single keys act", checked: areOn, onchange: ({ target }) => {
      areOn = target.checked;
    }, hint: "In this tab, until it is loaded again." }).element,
    h("div", { class: "actions" }, button("Close", close))));
}
