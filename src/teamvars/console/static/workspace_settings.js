/** What a workspace is called and found by, and how it is deleted, for whoever manages it. */

import { Refused, read, readPage } from "./api.js";
import { deleteDialog } from "./delete_dialog.js";
import { button, count, h, listed, name } from "./dom.js";
import { stay } from "./hands.js";
import { readWorkspace, workspaceHead } from "./heads.js";
import { movingForm } from "./moving.js";
import { notify } from "./notices.js";
import { workspaceForm } from "./workspace_form.js";

/** @import { Answer, Page } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */

const MOST_NAMES = 8;

/** @param {Context} context */
export async function workspaceSettingsPage(context) {
  const { organization, go, signal } = context;
  const { found } = await readWorkspace(context);
  if (!found.attributes.permissions["can-update"]) throw new Refused(404, []);
  const path = `/workspaces/${found.id}`;
  /** @type {Answer<Api.TagBindingListDocument>} */
  const { document } = await read(`${path}/tag-bindings`, { signal });
  const bindings = document.data.map((one) => one.attributes);
  const settings = workspaceForm({ path, workspace: found, bindings, done: async ({ attributes }) => {
    await go(`/app/${organization}/workspaces/${attributes.name}/settings`, { replace: true });
    notify("told", "The workspace is saved.");
  } });
  return h("section", {}, workspaceHead(context, found, "settings"),
    h("div", { class: "narrow" }, settings,
      await project(context, found),
      h("h2", { class: "part" }, "Delete the workspace"),
      h("p", { class: "lead" }, "Its variables are deleted with it, and nobody gets them back. What changed in it stays in the activity."),
      h("div", { class: "actions" }, button("Delete workspace", () => askToDelete(context, found), { picture: "remove" }))));
}

/**
 * Which one it is in, and a form that moves it, for whoever may.
 * @param {Context} context
 * @param {Api.WorkspaceResource} workspace
 * @returns {Promise<Child>}
 */
async function project({ organization, go, signal }, { id, attributes, relationships }) {
  /** @type {Answer<Api.ProjectDocument>} */
  const { document: { data } } = await read(`/projects/${relationships.project.data.id}`, { signal });
  const base = `/organizations/${encodeURIComponent(organization)}`;
  const done = async (/** @type {Child} */ told) => {
    await go(location.pathname, { replace: true });
    notify("told", told);
  };
  return [h("h2", { class: "part" }, "Project"),
    h("p", { class: "lead" }, "It is in ", h("a", { href: `/app/${organization}/projects/${data.id}` }, name(data.attributes.name)),
      ": teams with access to that have it here as well."),
    data.attributes.permissions["can-move-workspace"] && movingForm({ base, workspaces: [{ id, attributes }], done })];
}

/**
 * Says first what goes with it, and who loses access.
 * @param {Context} context
 * @param {Api.WorkspaceResource} workspace
 */
async function askToDelete({ organization, go, signal }, { id, attributes }) {
  const isStill = stay();
  const losing = await whoLoses(id, signal);
  if (!isStill()) return;
  deleteDialog({
    title: "Delete this workspace?", what: "name", word: attributes.name, path: `/workspaces/${id}`,
    text: [`It has ${count(attributes["variables-count"], "variable")}. `, losing, " It is deleted for ever: "],
  }, async () => {
    await go(`/app/${organization}/workspaces`);
    notify("told", `${attributes.name} is deleted.`);
  });
}

/**
 * In words: the people, tokens and runners that reach it. Who manages it and is no owner may not know.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Child>}
 */
async function whoLoses(id, signal) {
  const nobody = (/** @type {unknown} */ error) => {
    if (!(error instanceof Refused && error.status === 403)) throw error;
    return null;
  };
  /** @type {(Page<{attributes: {name: string}}, never> | null)[]} */
  const [holders, runners] = await Promise.all(["access", "runners"].map((one) =>
    readPage(`/workspaces/${id}/${one}`, 1, { signal }).catch(nobody)));
  const names = (holders?.items ?? []).slice(0, MOST_NAMES).map((one) => name(one.attributes.name));
  const more = (holders?.total ?? 0) - names.length;
  return [holders ? [listed(names), more > 0 && ` and ${more} more`, names.length === 1 ? " loses" : " lose", " access to it."]
    : "Everybody who has access to it loses it.",
  runners && runners.total > 0 && ` No job is handed its values any more: ${count(runners.total, "runner")} can reach it.`];
}
