/** The form of what has a name and a description: a project, a variable set. */

import { Change, changed, send } from "./api.js";
import { h } from "./dom.js";
import { field, form, keepTyped, leaveButton, textOf } from "./fields.js";

/** @import { Answer } from "./api.js" */
/** @import { Held } from "./fields.js" */
/** @typedef {{name: string, description: string}} Named */

const AT = "/data/attributes";

/**
 * The form. `one` is null for a new one, which is made at `path` with these `relationships`; `start` is what it has, and
 * `said(named)` what it is to have, of which `more` is shown. `done(resource)` is called once it is saved, which
 * `agrees(attributes, held)` may have prevented.
 * @template {Named} S
 * @template {{id: string}} R
 * @param {{type: string, noun: string, path: string, one: R | null, start: S, said: (named: Named) => S,
 *   more?: HTMLElement, relationships?: object | null, done: (resource: R) => unknown, cancel?: () => unknown,
 *   agrees?: (attributes: Partial<S>, held: Held) => Promise<boolean>}} of
 */
export function namedForm({ type, noun, path, one, start, said, more, relationships, done, cancel, agrees }) {
  const called = h("input", { value: start.name, spellcheck: "false" });
  const description = h("textarea", { rows: 2, value: start.description });
  const change = new Change();
  const attributes = () => {
    const now = said({ name: called.value.trim(), description: textOf(description, start.description) });
    return one ? changed(start, now) : now;
  };
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": one ? `Change the ${noun}` : `A new ${noun}`,
    sure: async (held) => !agrees || agrees(attributes(), held),
    onsubmit: async (signal) => {
      const data = { type, ...(one && { id: one.id }), attributes: attributes(), ...(relationships && { relationships }) };
      /** @type {Answer<{data: R}>} */
      const { document } = await send(one ? "PATCH" : "POST", path, { data }, { change, signal });
      keepTyped(element, false);
      done(document.data);
    },
  },
    !one && h("h2", {}, `A new ${noun}`),
    field({ label: "Name", control: called, pointer: `${AT}/name` }),
    field({ label: "Description", control: description, pointer: `${AT}/description` }),
    more,
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, one ? "Save" : `Create ${noun}`), cancel && leaveButton(cancel)));
  return element;
}
