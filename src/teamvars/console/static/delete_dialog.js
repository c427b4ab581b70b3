/** Deletes a variable, once somebody has typed its key. */

import { Refused, remove } from "./api.js";
import { show } from "./dialogs.js";
import { button, h, name } from "./dom.js";
import { field, form } from "./fields.js";

/** `done()` is called once it is gone. */
export function deleteDialog(workspaceId, { id, key, version }, done) {
  const input = h("input", { class: "code", spellcheck: "false", autocapitalize: "none", autofocus: true });
  const sure = h("button", { class: "button danger", disabled: true }, "Delete");
  input.addEventListener("input", () => {
    sure.disabled = input.value !== key && input.value !== spelled(key);
  });
  show("Delete this variable?", (close) =>
    form({
      isMissed: false,
      onsubmit: async () => {
        if (sure.disabled) throw new Error("Type the key first, as it stands above.");
        try {
          await remove(`/workspaces/${workspaceId}/vars/${id}`, { ifMatch: `"${version}"` });
        } catch (error) {
          if (!(error instanceof Refused && error.status === 412)) throw error;
          throw new Error("Somebody has changed it meanwhile. Close this, load the page again and look at it first.");
        }
        close();
        done();
      },
    },
      h("p", {}, "Its value goes for good: ", h("strong", { class: "code" }, name(key))),
      field({ label: "Type the key to confirm", control: input }),
      h("div", { class: "actions" }, sure, button("Cancel", close))));
}

/** As it is shown: with what nobody can type spelled out. */
function spelled(key) {
  return name(key).textContent;
}
