/** Moves workspaces into a project, once somebody has read who gains access by that and who loses, and which sets come. */

import { Change, send } from "./api.js";
import { ask } from "./dialogs.js";
import { count, h, listed, name } from "./dom.js";
import { form, keepTyped, leaveButton } from "./fields.js";
import { LEVELS } from "./heads.js";
import { projectField, workspacesField } from "./named.js";

/** @import { Child } from "./dom.js" */
/** @import { Answer } from "./api.js" */
/** @import { Held } from "./fields.js" */
/** @typedef {Api.AccessChangeAttributes["before"]} Level */
/** @typedef {{id: string, attributes: {name: string}}} Named */

const ORDER = Object.keys(LEVELS);

/**
 * The form. It asks for the `project` where that is null, and else for the workspaces: `workspaces` is then left out.
 * `base` is the path of the organization; `done(told)` is called once they are moved, or are there already.
 * @param {{base: string, project?: Named, workspaces?: Named[], done: (told: Child) => unknown, cancel?: () => unknown}} said
 */
export function movingForm({ base, project, workspaces, done, cancel }) {
  const change = new Change();
  const asked = project ? workspacesField(base, "/data") : projectField(base, "/data/project");
  /** @type {{target: Named, moved: Named[], isThere: boolean}} */
  let wanted;
  const document = (/** @type {boolean} */ dryRun) => ({ data: wanted.moved.map(({ id }) => ({ type: "workspaces", id })),
    ...(dryRun && { meta: { "dry-run": true } }) });
  const path = () => `/projects/${wanted.target.id}/relationships/workspaces`;
  const sure = async (/** @type {Held} */ held) => {
    const foreseen = await held(async (signal) => {
      const found = await asked.find(signal);
      wanted = { target: project ?? found[0], moved: workspaces ?? found, isThere: false };
      /** @type {Answer<Api.ForeseenDocument>} */
      const answer = await send("POST", path(), document(true), { repeats: true, signal });
      return answer.document;
    });
    wanted.isThere = foreseen.meta.workspaces === 0;
    const called = name(wanted.target.attributes.name);
    return wanted.isThere || ask(["Move ", count(foreseen.meta.workspaces, "workspace"), " into ", called, "?"],
      outcome(foreseen), "Move", { more: changesOf(foreseen) });
  };
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": "Move workspaces", sure, busy: "Moving …",
    onsubmit: async (signal) => {
      if (!wanted.isThere) await send("POST", path(), document(false), { change, signal });
      keepTyped(element, false);
      const { target, moved, isThere } = wanted;
      const called = name(target.attributes.name);
      return done(isThere ? ["All of them are in ", called, " already."]
        : [count(moved.length, "workspace"), moved.length === 1 ? " is" : " are", " in ", called, " now."]);
    },
  },
    asked.elements,
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Move …"), cancel && leaveButton(cancel)));
  return element;
}

/** @param {Api.ForeseenDocument} foreseen */
function outcome({ data, meta }) {
  const { "unseen-teams": unseen, "gained-varsets": gained, "lost-varsets": lost, runners } = meta;
  return [
    data.length ? "This changes who may read and write their variables." : "It changes the access of no team that you see.",
    unseen > 0 && ` The access of ${count(unseen, "team")} that you do not see changes as well.`,
    gained.length > 0 && [" Some get variables of ", listed(gained.map(name)), "."],
    lost.length > 0 && [" Some lose those of ", listed(lost.map(name)), "."],
    runners.length > 0 && [" Sensitive values among these are handed to ", listed(runners.map(name)), "."],
  ];
}

/**
 * Each team whose access would be another.
 * @param {Api.ForeseenDocument} foreseen
 */
function changesOf({ data }) {
  if (!data.length) return null;
  return h("ul", { class: "rows", role: "list" }, data.map(({ attributes: { team, before, after, workspaces } }) => {
    const gains = ORDER.indexOf(after) > ORDER.indexOf(before);
    return h("li", { class: "row" }, h("span", { class: "name" }, name(team)),
      h("span", { class: "badge" }, gains ? "gains" : "loses"),
      h("span", { class: "aside" }, `${LEVELS[after]} instead of ${LEVELS[before]}, in ${count(workspaces, "workspace")}`));
  }));
}
