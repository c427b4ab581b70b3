/** In the place of a list that cannot be shown: the variables whose stored values are damaged. */

import { Change, send } from "./api.js";
import { deleteDialog } from "./delete_dialog.js";
import { announce, button, h, name } from "./dom.js";
import { FormPlace, field, form, keepTyped, leaveButton } from "./fields.js";

/** @import { ErrorObject } from "./api.js" */

/** @typedef {{id: string, key: string}} Damaged */

/**
 * Offers a new value, or to delete, for each variable that the errors name.
 * @param {string} path of the workspace's variables, below `/api/v2`
 * @param {ErrorObject[]} errors
 * @param {boolean} may whether one may write there
 * @param {() => unknown} again called when one of them is whole again, or gone
 */
export function damagedValues(path, errors, may, again) {
  const damaged = errors.filter((one) => one.code === "damaged_value").map((one) => /** @type {Damaged} */ (one.meta));
  return h("div", {},
    h("p", { class: "notice", role: "alert" },
      "These variables have damaged values, which nobody can read any more. The others are shown once each of these ",
      may ? "has a new value or is deleted." : "has a new value or is deleted by somebody who may write here."),
    h("ul", { class: "rows", role: "list" }, damaged.map((one) => row(path, one, may, again))));
}

/**
 * @param {string} path
 * @param {Damaged} damaged
 * @param {boolean} may
 * @param {() => unknown} again
 */
function row(path, { id, key }, may, again) {
  const place = new FormPlace();
  const done = (/** @type {string} */ text) => {
    announce(text);
    again();
  };
  const write = () => place.open((end) => newValue(`${path}/${id}`, { id, key }, done, () => end()));
  const remove = () => deleteDialog({
    title: "Delete this variable?", text: "Its value is lost already: ", what: "key", word: key, path: `${path}/${id}`,
  }, () => done(`${key} is deleted.`));
  return h("li", { class: "row" }, h("span", { class: "name" }, name(key)),
    may && button("New value", write, { "aria-label": `Write a new value for ${key}` }),
    may && button("Delete", remove, { kind: "bare", "aria-label": `Delete ${key}` }), place.element);
}

/**
 * @param {string} path
 * @param {Damaged} damaged
 * @param {(text: string) => unknown} done
 * @param {() => unknown} cancel
 */
function newValue(path, { id, key }, done, cancel) {
  const change = new Change();
  const value = h("textarea", { wrap: "off", spellcheck: "false", autocapitalize: "none", rows: 3 });
  const element = form({
    "aria-label": `A new value for ${key}`,
    onsubmit: async (signal) => {
      const attributes = { value: value.value };
      await send("PATCH", path, { data: { type: "vars", id, attributes } }, { change, signal });
      keepTyped(element, false);
      done(`${key} is saved.`);
    },
  },
    field({ label: "New value", control: value, pointer: "/data/attributes/value" }),
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Save"), leaveButton(cancel)));
  return element;
}
