/** Files that are dropped on a page, and lines that are pasted there. */

import { Refused } from "./api.js";

/** More than the API takes, so that it is the API that says so. */
const LARGEST_BYTES = 1024 * 1024;

/** @typedef {{name: string, text: string}} DroppedFile */

/**
 * Takes a file that is dropped on the page, or lines that are pasted there: several, and while nobody fills in a form,
 * since what is meant for a field must not open in clear elsewhere.
 * @param {HTMLElement} element
 * @param {AbortSignal} signal
 * @param {(file: DroppedFile) => unknown} take
 */
export function watchDrops(element, signal, take) {
  const options = { signal };
  const isTyping = () => document.querySelector("dialog[open], main form") !== null;
  // On some systems a wheel that is pressed pastes what was selected last, anywhere.
  let isMiddle = false;
  document.addEventListener("mousedown", ({ button }) => {
    isMiddle = button === 1;
  }, options);
  document.addEventListener("keydown", () => {
    isMiddle = false;
  }, options);
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (!isTyping()) element.classList.add("dropping");
  }, options);
  document.addEventListener("dragleave", () => element.classList.remove("dropping"), options);
  document.addEventListener("drop", async (event) => {
    element.classList.remove("dropping");
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault(); // a browser would leave the page for it
    const asking = fileInput();
    if (asking) {
      asking.files = event.dataTransfer?.files ?? null;
      asking.dispatchEvent(new Event("change"));
    } else if (!isTyping()) take(await contentsOf(file));
  }, options);
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const target = /** @type {Partial<Element> | null} */ (event.target);
    if (isMiddle || isTyping() || target?.closest?.("input, textarea")) return;
    if (!/=|^\s*\{/.test(text) || !text.trim().includes("\n")) return;
    event.preventDefault();
    take({ name: "", text });
  }, options);
}

/** Where a dialog asks for a file, that takes it, as if somebody had chosen it there. */
function fileInput() {
  const found = /** @type {HTMLInputElement | null} */ (document.querySelector("dialog[open] form:not([aria-busy]) [type=file]"));
  return found?.checkVisibility() ? found : null;
}

/**
 * Its name and text. Of one that is too long for any server only the beginning, which is refused.
 * @param {File} file
 * @returns {Promise<DroppedFile>}
 */
export async function contentsOf(file) {
  try {
    return { name: file.name, text: await file.slice(0, LARGEST_BYTES + 1).text() };
  } catch {
    throw new Refused(0, [{ detail: `${file.name} cannot be read. It may be a folder, or one that you may not open.` }]);
  }
}
