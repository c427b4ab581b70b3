/** The form of a workspace: what it is called, what it is for, and what it is found by. */

import { Change, Refused, read, send } from "./api.js";
import { h } from "./dom.js";
import { field, form, keepTyped, leaveButton, textOf } from "./fields.js";

/** @import { Answer, ErrorObject } from "./api.js" */
/** @typedef {{name: string, description: string, tags: string}} Said */

const AT = "/data/attributes";
const BINDINGS = "/data/relationships/tag-bindings";

/**
 * The form. `workspace` is null for a new one, which is made at `path`; `bindings` are the tags with values that it has.
 * `done(resource)` is called once it is saved.
 * @param {{path: string, workspace: Api.WorkspaceResource | null, bindings?: Api.TagBindingAttributes[],
 *   done: (resource: Api.WorkspaceResource) => unknown, cancel?: () => unknown}} said
 */
export function workspaceForm({ path, workspace, bindings = [], done, cancel }) {
  const start = saidOf(workspace?.attributes, bindings);
  const named = h("input", { value: start.name, spellcheck: "false", autocapitalize: "none" });
  const description = h("textarea", { rows: 2, value: start.description });
  const tags = h("input", { value: start.tags, spellcheck: "false", autocapitalize: "none" });
  const change = new Change();
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": workspace ? "Change the workspace" : "A new workspace",
    onsubmit: async (signal) => {
      const now = { name: named.value.trim(), description: textOf(description, start.description), tags: tags.value };
      if (workspace && now.tags !== start.tags) now.tags = merged(start.tags, now.tags, await tagsOf(path, signal));
      const data = { type: "workspaces", ...(workspace && { id: workspace.id }), ...changesOf(start, now, workspace !== null) };
      /** @type {Promise<Answer<Api.WorkspaceDocument>>} */
      const sent = send(workspace ? "PATCH" : "POST", path, { data }, { change, signal });
      const { document } = await sent.catch(atTags);
      keepTyped(element, false);
      done(document.data);
    },
  },
    !workspace && h("h2", {}, "A new workspace"),
    field({ label: "Name", control: named, pointer: `${AT}/name`, hint: "Letters, digits, - and _." }),
    field({ label: "Description", control: description, pointer: `${AT}/description` }),
    field({ label: "Tags", control: tags, pointer: `${AT}/tag-names`, hint: "Separated by commas, some with a value: live, region=eu" }),
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, workspace ? "Save" : "Create workspace"), cancel && leaveButton(cancel)));
  return element;
}

/**
 * @param {Api.WorkspaceAttributes | undefined} attributes
 * @param {Api.TagBindingAttributes[]} bindings
 * @returns {Said}
 */
function saidOf(attributes, bindings) {
  if (!attributes) return { name: "", description: "", tags: "" };
  const tags = [...attributes["tag-names"], ...bindings.map((one) => `${one.key}=${one.value}`)].join(", ");
  return { name: attributes.name, description: attributes.description ?? "", tags };
}

/**
 * Those that it has by now.
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function tagsOf(path, signal) {
  /** @type {[Answer<Api.WorkspaceDocument>, Answer<Api.TagBindingListDocument>]} */
  const [{ document: found }, { document: bound }] = await Promise.all([read(path, { signal }), read(`${path}/tag-bindings`, { signal })]);
  return saidOf(found.data.attributes, bound.data.map((one) => one.attributes)).tags;
}

/**
 * Tags are sent as a whole: what others have made of them since the form began stays, but for what was changed in the form.
 * @param {string} start
 * @param {string} said
 * @param {string} now
 */
function merged(start, said, now) {
  const [was, is, all] = [start, said, now].map(byName);
  for (const one of was.keys()) if (!is.has(one)) all.delete(one);
  for (const [one, words] of is) if (words.join() !== was.get(one)?.join()) all.set(one, words);
  return [...all.values()].flat().join(", ");
}

/**
 * The tags in a text by their names, or by their keys with a `=`: as often as they are said.
 * @param {string} text
 */
function byName(text) {
  return Map.groupBy(wordsOf(text), (one) => (one.includes("=") ? `${one.split("=")[0].trim()}=` : one));
}

/** @param {string} text */
function wordsOf(text) {
  return text.split(",").map((one) => one.trim()).filter(Boolean);
}

/**
 * What is another than it was, as a document has it; all that is said where nothing was.
 * @param {Said} start
 * @param {Said} now
 * @param {boolean} isThere
 */
function changesOf(start, now, isThere) {
  const is = (/** @type {keyof Said} */ what) => (isThere ? now[what] !== start[what] : now[what] !== "");
  const words = wordsOf(now.tags);
  const bindings = words.filter((one) => one.includes("=")).map((one) => {
    const [key, ...rest] = one.split("=");
    return { type: "tag-bindings", attributes: { key: key.trim(), value: rest.join("=").trim() } };
  });
  return {
    attributes: {
      ...((is("name") || !isThere) && { name: now.name }),
      ...(is("description") && { description: now.description }),
      ...(is("tags") && { "tag-names": words.filter((one) => !one.includes("=")) }),
    },
    ...(is("tags") && { relationships: { "tag-bindings": { data: bindings } } }),
  };
}

/**
 * What is wrong with a tag that has a value is told at the field of all tags.
 * @param {unknown} error
 * @returns {never}
 */
function atTags(error) {
  if (!(error instanceof Refused)) throw error;
  const isOne = (/** @type {ErrorObject} */ { source }) =>
    [BINDINGS, "/data/relationships/tags"].some((one) => source?.pointer?.startsWith(one));
  const errors = error.errors.map((one) => (isOne(one) ? { ...one, source: { pointer: `${AT}/tag-names` } } : one));
  throw new Refused(error.status, errors);
}
