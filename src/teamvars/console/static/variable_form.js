/** One variable, new or there already, to be changed or read: in its place in the list, not in front of it. */

import { Change, Refused, changed, late, read, send } from "./api.js";
import { ask } from "./dialogs.js";
import { button, edgesOf, h, icon, name, nodes } from "./dom.js";
import { choice, clearErrors, field, form, isOvertaken, keepTyped, leaveButton, textOf, tick } from "./fields.js";
import { lead, settleAll } from "./hands.js";
import { editor, valueField } from "./value_field.js";
import { variableOf } from "./variable_list.js";

const AT = "/data/attributes";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Held } from "./fields.js" */
/** @import { ItemSaid } from "./variables_page.js" */
/** @import { Resource, Variable } from "./variable_list.js" */

/**
 * What a variable is, or is said to be, in the server's words for categories.
 * @typedef {Omit<Api.VariableAttributes, "category" | "version-id" | "created-at"> & {category: string}} Contents
 */

/**
 * A line that is filled in once it is known: the form does not wait for it.
 * @param {Promise<Child>} known
 */
function lineOf(known) {
  const line = h("p", { class: "hint" });
  known.then((told) => line.append(...nodes(told)), () => line.remove());
  return line;
}

/**
 * What a form is told. `variable` is null for a new one; `done(resource)` once it is saved, `theirs(resource)` where what
 * somebody else has made of it meanwhile stays, and `gone()` where somebody has deleted it.
 * @typedef {{place: import("./variables_page.js").Place, categories: string[], variable: Variable | null,
 *   done: (resource: Resource) => unknown, theirs?: (resource: Resource) => unknown, gone?: () => unknown,
 *   cancel: () => unknown}} Said
 */

/**
 * The form.
 * @param {Said} said
 */
export function variableForm(said) {
  const { place, categories, variable, done, cancel } = said;
  /** @type {Contents} */
  const start = variable ?? { key: "", value: "", description: "", category: categories[0], hcl: false, sensitive: false };
  const method = variable ? "PATCH" : "POST";
  const path = variable ? `${place.variables}/${variable.id}` : place.variables;
  const fields = fieldsOf(`${place.path}/actions/check-value`, categories, start, variable !== null);
  const change = new Change();
  let version = variable?.version;
  const leave = () => {
    fields.forget();
    cancel();
  };

  const sent = () => (variable ? changed(start, fields.said()) : fields.said());
  /** What nobody sees at its ends may be wanted, and may have come with what was pasted. */
  const sure = async (/** @type {Held} */ held) => {
    const attributes = sent();
    const edges = edgesOf(attributes.value ?? "");
    const question = `It ${edges.join(" and ")}.`;
    if (edges.length && !(await ask("Save the value as it is?", question, "Save it so", { no: "Back to the form" }))) return false;
    if (!place.agrees || !Object.keys(attributes).length) return true;
    const { key, category } = { ...start, ...attributes };
    return place.agrees(itemsOf(variable, { key, category }, attributes), ["Save ", name(key), "?"], "Save", held);
  };
  const save = async (/** @type {AbortSignal} */ signal) => {
    const attributes = sent();
    if (variable && !Object.keys(attributes).length) return leave();
    const data = variable ? { type: "vars", id: variable.id, attributes } : { type: "vars", attributes };
    const options = { change, signal, ifMatch: version && `"${version}"` };
    /** @type {Answer<Api.VariableDocument>} */
    const { document } = await send(method, path, { data }, options);
    fields.forget();
    keepTyped(element, false);
    done(document.data);
  };
  /** @type {HTMLFormElement} */
  const element = form({
    "aria-label": variable ? `Edit ${variable.key}` : "A new variable",
    sure,
    onsubmit: (signal) => save(signal).catch((error) => meet(error)),
  }, fields.elements, h("div", { class: "actions" },
    h("button", { class: "button primary" }, variable ? "Save" : "Add variable"),
    leaveButton(() => leave()),
    variable && place.ways(variable).map(([text, href]) => h("a", { class: "button bare", href }, text))),
  variable && place.handed && lineOf(place.handed(variable)));

  /** Somebody else was faster: shows what is there now beside what this form would make of it. */
  const meet = async (/** @type {unknown} */ error) => {
    if (!(error instanceof Refused)) throw error;
    if (error.errors.some(({ source }) => source?.pointer === `${AT}/value`)) fields.hush();
    if (!isOvertaken(error, element, variable ? [404] : [])) throw error;
    const now = await readNow(path);
    if (now) version = now.version;
    const changes = changed(start, fields.said());
    const { conflict } = await late(() => import("./conflict.js"));
    const trail = `${place.path}/audit-events`;
    const panel = conflict({ trail, start, now, changes, isSensitive: start.sensitive || fields.said().sensitive,
      mine: () => {
        back();
        element.requestSubmit();
      },
      edit: () => back(),
      theirs: () => {
        fields.forget();
        keepTyped(element, false);
        if (now) said.theirs?.(now.resource);
        else said.gone?.();
      },
    });
    const back = () => {
      panel.remove();
      element.hidden = false;
      clearErrors(element);
      settleAll();
      fields.focus();
    };
    element.hidden = true;
    element.after(panel);
    lead(panel.querySelector("h2"), element);
  };
  return element;
}

/**
 * One variable in full, for whoever may read it and nothing more.
 * @param {Variable} variable
 * @param {() => unknown} close
 */
export function readOnly({ key, value, description, sensitive }, close) {
  const shownValue = sensitive
    ? h("p", { class: "write-only" }, icon("lock"), "write-only: nobody reads it back")
    : editor({ value, readonly: true, "aria-label": `Value of ${key}` }).element;
  return h("div", {},
    h("p", {}, h("strong", {}, name(key)), description && [" · ", name(description)]),
    shownValue,
    h("div", { class: "actions" }, button("Close", close)));
}

/**
 * As an apply has them: one that is called otherwise is another one.
 * @param {Variable | null} variable
 * @param {Pick<Contents, "key" | "category">} named
 * @param {Partial<Contents>} attributes
 * @returns {ItemSaid[]}
 */
function itemsOf(variable, named, attributes) {
  /** @type {ItemSaid} */
  const item = { type: "vars", attributes: { ...attributes, ...named } };
  if (!variable || (variable.key === named.key && variable.category === named.category)) return [item];
  const { key, category } = variable;
  return [{ type: "vars", attributes: { key, category }, meta: { delete: true } }, item];
}

/** @param {string} path */
async function readNow(path) {
  try {
    /** @type {Answer<Api.VariableDocument>} */
    const { document } = await read(path);
    return { ...variableOf(document.data), resource: document.data };
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return null;
    throw error;
  }
}

/**
 * @param {string} tries
 * @param {string[]} categories
 * @param {Contents} start
 * @param {boolean} exists
 */
function fieldsOf(tries, categories, start, exists) {
  const key = h("input", { value: start.key, class: "code", spellcheck: "false", autocapitalize: "none" });
  const description = h("input", { value: start.description });
  const value = valueOf(tries, start, exists);
  const category = choice({ legend: "Category", chosen: start.category, pointer: `${AT}/category`,
    options: categories.map((one) => ({ value: one, label: one })), onchange: () => settle() });
  const hcl = tick({ label: "HCL", checked: start.hcl, pointer: `${AT}/hcl`, onchange: () => settle(),
    hint: "The value is an expression, such as a list or a map." });
  const sensitive = tick({ label: "Sensitive", checked: start.sensitive, pointer: `${AT}/sensitive`,
    disabled: start.sensitive, onchange: () => settle(), hint: "Nobody can read the value again." });
  const warning = h("p", { class: "notice caution", hidden: true }, icon("warning"),
    "This cannot be undone: once saved, the variable stays write-only. To make it readable again, delete it and add a new one.");
  const settle = () => {
    const isCode = category.chosen() === categories[0];
    hcl.element.hidden = !isCode;
    warning.hidden = start.sensitive || !sensitive.box.checked;
    value.check(isCode && hcl.box.checked);
  };
  settle();
  return {
    elements: [
      h("div", { class: "columns" },
        field({ label: "Key", control: key, pointer: `${AT}/key` }), category.element),
      value.element,
      h("div", { class: "columns" }, hcl.element, sensitive.element),
      warning,
      field({ label: "Description", control: description, pointer: `${AT}/description` }),
    ],
    /** @returns {Omit<Contents, "value"> & Partial<Pick<Contents, "value">>} */
    said: () => ({ key: textOf(key, start.key), ...value.said(),
      description: textOf(description, start.description),
      category: category.chosen(), hcl: hcl.box.checked, sensitive: sensitive.box.checked }),
    forget: value.forget,
    hush: value.hush,
    focus: () => key.focus(),
  };
}

/**
 * The value; of a sensitive variable only once somebody wants to replace it.
 * @param {string} tries
 * @param {Contents} start
 * @param {boolean} exists
 */
function valueOf(tries, start, exists) {
  const isHidden = exists && start.sensitive;
  const made = valueField(tries, { value: start.value ?? "", label: isHidden ? "New value" : "Value" });
  let given = !isHidden;
  const forget = () => {
    made.check(false);
    made.input.value = "";
  };
  if (!isHidden) {
    return { element: made.element, check: made.check, hush: made.hush, forget,
      said: () => ({ value: textOf(made.input, start.value ?? "") }) };
  }
  const place = h("div", { class: "field" },
    h("span", { class: "label" }, "Value"),
    h("div", { class: "replace" },
      h("span", { class: "write-only" }, icon("lock"), "write-only"),
      button("Replace value", () => {
        given = true;
        place.replaceWith(made.element);
        made.input.focus();
      })),
    h("p", { class: "hint" }, "Nobody can read ", name(start.key), " back. You can give it another value."));
  return { element: place, check: (/** @type {boolean} */ is) => given && made.check(is), hush: made.hush, forget,
    said: () => (given ? { value: made.input.value } : {}) };
}
