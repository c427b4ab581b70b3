/** The page of a workspace: its variables, and those that it gets from variable sets. */

import { loaded } from "./api.js";
import { readWorkspace, workspaceHead } from "./heads.js";
import { Inherited } from "./inherited.js";
import { variablesPage } from "./variables_page.js";

/** @param {import("./pages.js").Context} context */
export async function workspaceVariablesPage(context) {
  const { organization, signal } = context;
  const { found, owns } = await readWorkspace(context);
  const here = `/app/${organization}/workspaces/${found.attributes.name}`;
  return variablesPage(context, {
    head: workspaceHead(context, found, "variables"),
    path: `/workspaces/${found.id}`,
    variables: `/workspaces/${found.id}/vars`,
    may: found.attributes.permissions["can-update-variable"],
    owns,
    ways: ({ key }) => [["Who changed it", `${here}/activity?key=${encodeURIComponent(key)}`], ["Who has access", `${here}/access`]],
    handed: async ({ id }) => (await loaded(import("./runners.js"))).lastDelivery(found.id, id),
    warns: null,
    agrees: null,
    inherited: new Inherited(organization, found.id, signal),
  });
}
