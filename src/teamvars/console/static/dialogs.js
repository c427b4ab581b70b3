/** Dialogs: modal, closed by Escape, and never with what was typed in them unless one says so. */

import { button, h } from "./dom.js";
import { holdsTyped } from "./fields.js";

const open = [];

/**
 * Shows `content` until `close` is called, and gives the focus back then.
 * @param {string} title
 * @param {(close: () => void) => unknown} content
 */
export function show(title, content, { wide = false } = {}) {
  const heading = h("h2", { id: `dialog-${open.length}`, tabindex: -1 }, title);
  const dialog = h("dialog", { class: wide && "wide", "aria-labelledby": heading.id });
  const before = document.activeElement;
  const close = () => {
    if (open.includes(dialog)) open.splice(open.indexOf(dialog), 1);
    dialog.close();
    dialog.remove();
    if (before?.isConnected) before.focus();
  };
  dialog.addEventListener("cancel", async (event) => {
    event.preventDefault();
    if (await mayLose(dialog)) close();
  });
  dialog.append(heading, h("div", {}, content(close)));
  document.getElementById("main").append(dialog);
  open.push(dialog);
  dialog.showModal();
  (dialog.querySelector("[autofocus], textarea, input:not([type=radio])") ?? heading).focus();
  return close;
}

/** Asks, and says whether the answer was yes. */
export function ask(title, text, yes, { kind = "primary", no = "Cancel" } = {}) {
  return new Promise((resolve) => {
    show(title, (close) => {
      const answer = (is) => () => {
        close();
        resolve(is);
      };
      const refuse = button(no, answer(false));
      const place = h("div", {}, h("p", {}, text),
        h("div", { class: "actions" }, button(yes, answer(true), { kind }), refuse));
      // Escape, which closes without an answer of its own.
      queueMicrotask(() => place.closest("dialog")?.addEventListener("cancel", () => resolve(false)));
      return place;
    });
  });
}

/** Whether what is typed there may be lost: nothing is, or somebody says so. */
export async function mayLose(element) {
  if (!holdsTyped(element)) return true;
  return ask("Leave what you typed?", "It has not been saved.", "Leave it", { kind: "danger", no: "Stay" });
}

/** Hides all of them, with what they hold, until `bringBack`. */
export function putAside() {
  for (const dialog of open) dialog.close();
}

export function bringBack() {
  for (const dialog of open) dialog.showModal();
}

/** Ends all of them. */
export function endAll() {
  for (const dialog of open.splice(0)) dialog.remove();
}
