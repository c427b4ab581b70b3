/** Deletes what has a name, once somebody has typed it. */

import { Refused, remove } from "./api.js";
import { show } from "./dialogs.js";
import { h, name } from "./dom.js";
import { field, form, leaveButton } from "./fields.js";

/** @import { Child } from "./dom.js" */

/**
 * Asks for its name.
 * @param {{title: string, text: Child, what: string, word: string, path: string, ifMatch?: string, more?: Child}} said
 *   `word` is what is to be typed, and `what` says which; `more` is what to read before
 * @param {() => unknown} done called once it is gone
 */
export function deleteDialog({ title, text, what, word, path, ifMatch, more = null }, done) {
  const input = h("input", { class: "code", spellcheck: "false", autocapitalize: "none", autofocus: true });
  const sure = h("button", { class: "button danger", disabled: true }, "Delete");
  input.addEventListener("input", () => {
    sure.disabled = input.value !== word && input.value !== spelled(word);
  });
  show(title, (close) =>
    form({
      isMissed: false,
      busy: "Deleting …",
      onsubmit: async (signal) => {
        if (sure.disabled) throw new Error(`Type the ${what} first, exactly as above.`);
        try {
          await remove(path, { ifMatch, signal });
        } catch (error) {
          if (!(error instanceof Refused && error.status === 412)) throw error;
          throw new Error("Somebody has changed it meanwhile. Close this, load the page again and look at it first.",
            { cause: error });
        }
        close();
        done();
      },
    },
      more, h("p", {}, text, h("strong", { class: "code" }, name(word))),
      field({ label: `Type the ${what} to confirm`, control: input }),
      h("div", { class: "actions" }, sure, leaveButton(close))), { wide: more !== null });
}

/**
 * As it is shown: with what nobody can type spelled out.
 * @param {string} word
 */
function spelled(word) {
  return name(word).textContent;
}
