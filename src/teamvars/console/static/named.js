/** What people name in a field: found by its name, and suggested while they type. */

import { Refused, read, readPage } from "./api.js";
import { h } from "./dom.js";
import { field } from "./fields.js";
import { suggesting } from "./paged_list.js";
import { folded } from "./people.js";
import { Suggestions } from "./suggestions.js";

/** @import { Answer, Page } from "./api.js" */
/** @import { Attributes } from "./dom.js" */
/** @typedef {keyof typeof LISTS} Noun */

/**
 * What is found by its name.
 * @typedef {Api.ProjectResource | Api.TeamResource | Api.WorkspaceResource} NamedResource
 */

/** How the lists of an organization are narrowed: to what has the words in its name, or is called so. */
const LISTS = {
  project: { path: "/projects", part: "q", whole: "filter[names]" },
  team: { path: "/teams", part: "q", whole: "filter[names]" },
  workspace: { path: "/workspaces", part: "search[name]", whole: "search[wildcard-name]" },
};

/**
 * A field for one of an organization's, and the names that it suggests; `base` is the path of the organization.
 * @param {string} base
 * @param {Noun} noun
 * @param {Attributes} [attributes]
 */
export function namesOf(base, noun, attributes = {}) {
  return suggesting((words) => listOf(base, noun, "part", words), attributes);
}

/**
 * @param {string} base
 * @param {Noun} noun
 * @param {"part" | "whole"} how
 * @param {string} words
 */
function listOf(base, noun, how, words) {
  const { path, ...by } = LISTS[noun];
  return base + path + (words && `?${by[how]}=${encodeURIComponent(words)}`);
}

/**
 * The one of that name, as the API has it. Refuses, at the field, where there is none.
 * @param {string} base
 * @param {Noun} noun
 * @param {string} words
 * @param {string} pointer
 * @param {AbortSignal} signal
 */
export async function findNamed(base, noun, words, pointer, signal) {
  const found = words && (await oneNamed(base, noun, words, signal));
  if (found) return found;
  throw missing(words ? `There is no ${noun} of this name.` : `Name a ${noun} first.`, pointer);
}

/**
 * The workspace of that name, to be read. Refuses, at the field, one that there is not.
 * @param {string} base
 * @param {string} words
 * @param {string} pointer
 * @param {AbortSignal} signal
 */
export async function findReadable(base, words, pointer, signal) {
  try {
    /** @type {Answer<Api.WorkspaceDocument>} */
    const { document } = await read(`${base}/workspaces/${encodeURIComponent(words)}`, { signal });
    return document.data;
  } catch (error) {
    if (!(error instanceof Refused && [404, 405].includes(error.status))) throw error;
    throw missing("There is no workspace of this name that you may read.", pointer);
  }
}

/**
 * The workspaces of these names. Refuses, at the field, those that there are not.
 * @param {string} base
 * @param {string[]} names
 * @param {string} pointer
 * @param {AbortSignal} signal
 */
export async function findWorkspaces(base, names, pointer, signal) {
  const found = await Promise.all(names.map((one) => oneNamed(base, "workspace", one, signal)));
  const lacking = names.filter((_, at) => !found[at]);
  if (lacking.length) throw missing(`There is no workspace ${lacking.join(", ")}.`, pointer);
  return found.filter((one) => one !== undefined);
}

/**
 * @param {string} base
 * @param {Noun} noun
 * @param {string} words
 * @param {AbortSignal} signal
 */
async function oneNamed(base, noun, words, signal) {
  /** @type {Page<NamedResource, never>} */
  const { items } = await readPage(listOf(base, noun, "whole", words), 1, { signal });
  return items.find(({ attributes }) => folded(attributes.name) === folded(words));
}

/**
 * @param {string} detail
 * @param {string} pointer
 */
function missing(detail, pointer) {
  return new Refused(404, [{ detail, source: { pointer } }]);
}

/**
 * A field for several workspaces, with what it suggests; `find(signal)` are those that it names, which it refuses as above.
 * @param {string} base
 * @param {string} pointer
 * @param {string[]} [names] what it begins with
 */
export function workspacesField(base, pointer, names = []) {
  const input = h("textarea", { rows: 3, value: names.join("\n"), spellcheck: "false", autocapitalize: "none" });
  const { element: suggested } = new Suggestions(input, "Workspaces with these letters", async (word) => {
    /** @type {Page<Api.WorkspaceResource, never>} */
    const { items } = await readPage(listOf(base, "workspace", "part", word), 1);
    return items.map((one) => one.attributes.name);
  });
  const find = (/** @type {AbortSignal} */ signal) => {
    const words = input.value.split(/[\s,;]+/).filter(Boolean);
    if (!words.length) throw missing("Name a workspace first.", pointer);
    return findWorkspaces(base, words, pointer, signal);
  };
  const said = field({ label: "Workspaces", control: input, pointer, hint: "One name on each line." });
  return { elements: [said, suggested], find };
}

/**
 * A field for one project, likewise.
 * @param {string} base
 * @param {string} pointer
 */
export function projectField(base, pointer) {
  const { input, names } = namesOf(base, "project");
  const find = async (/** @type {AbortSignal} */ signal) => [await findNamed(base, "project", input.value.trim(), pointer, signal)];
  return { elements: [field({ label: "Project", control: input, pointer }), names], find };
}
