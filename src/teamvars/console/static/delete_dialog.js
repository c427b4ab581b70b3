/** Deletes what has a name, once somebody has typed it. */

import { remove } from "./api.js";
import { show } from "./dialogs.js";
import { h, name, spelled } from "./dom.js";
import { field, form, leaveButton } from "./fields.js";

/** @import { Child } from "./dom.js" */

/**
 * Asks for its name.
 * @param {{title: string, text: Child, what: string, word: string, path: string, more?: Child}} said
 *   `word` is what is to be typed, and `what` says which; `more` is what to read before
 * @param {() => unknown} done called once it is gone
 */
export function deleteDialog({ title, text, what, word, path, more = null }, done) {
  const input = h("input", { class: "code", spellcheck: "false", autocapitalize: "none", autofocus: true });
  const sure = h("button", { class: "button danger", disabled: true }, "Delete");
  input.addEventListener("input", () => {
    sure.disabled = input.value !== word && input.value !== spelled(word); // nobody can type what is hidden
  });
  show(title, (close) =>
    form({
      isMissed: false,
      busy: "Deleting …",
      onsubmit: async (signal) => {
        if (sure.disabled) throw new Error(`Type the ${what} first, exactly as above.`);
        await remove(path, { signal });
        close();
        done();
      },
    },
      more, h("p", {}, text, h("strong", { class: "code" }, name(word))),
      field({ label: `Type the ${what} to confirm`, control: input }),
      h("div", { class: "actions" }, sure, leaveButton(close))), { wide: more !== null });
}
