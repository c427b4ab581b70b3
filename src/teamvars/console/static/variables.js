/** The page of a workspace: its variables, and those that it gets from variable sets. */

import { loaded } from "./api.js";
import { readWorkspace, workspaceHead } from "./heads.js";

/** @param {import("./pages.js").Context} context */
export async function workspaceVariablesPage(context) {
  const { organization, signal } = context;
  // The last is wanted only with the answers about variables, and asks for others in turn: so it is begun as early.
  const modules = loaded(
    Promise.all([import("./inherited.js"), import("./variables_page.js"), import("./variable_form.js")]));
  const [{ found, owns }, [{ Inherited }, { variablesPage }]] = await Promise.all([readWorkspace(context), modules]);
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
