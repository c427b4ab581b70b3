/** One variable in full, for whoever may read it and nothing more. */

import { button, h, icon, name } from "./dom.js";
import { editor } from "./value_field.js";

export function readOnly({ key, value, description, sensitive }, close) {
  const shownValue = sensitive
    ? h("p", { class: "write-only" }, icon("lock"), "write-only: nobody reads it back")
    : editor({ value, readonly: true, "aria-label": `Value of ${key}` }).element;
  return h("div", {},
    h("p", {}, h("strong", {}, name(key)), description && [" · ", name(description)]),
    shownValue,
    h("div", { class: "actions" }, button("Close", close)));
}
