/** The page of a variable set: its variables, which are as those of a workspace. */

import { late } from "./api.js";
import { readOrganization, readSet, setHead } from "./heads.js";
import { variablesPage } from "./variables_page.js";

const REACHES_ALL = "The sensitive values of this set reach every runner of every workspace, since it is global.";

/** @param {import("./pages.js").Context} context */
export async function setVariablesPage(context) {
  const { organization } = context;
  const [{ found }, owner] = await Promise.all([readSet(context), readOrganization(context)]);
  const { global: isGlobal, permissions } = found.attributes;
  return variablesPage(context, {
    head: setHead(context, found, "variables"),
    path: `/varsets/${found.id}`,
    variables: `/varsets/${found.id}/relationships/vars`,
    may: permissions["can-update"],
    owns: owner.attributes.permissions["can-update"],
    ways: ({ key }) => [["Who changed it", `/app/${organization}/varsets/${found.id}/activity?key=${encodeURIComponent(key)}`]],
    handed: null,
    warns: (list) => (isGlobal && list.all.some((one) => one.sensitive) ? REACHES_ALL : null),
    inherited: null,
    agrees: async (items, title, yes, held) => {
      const [{ agreed }, effects] = await held(async (waiting) => {
        const module = await late(() => import("./set_effects.js"));
        return /** @type {const} */ ([module, await module.effectsOfItems(found.id, items, waiting)]);
      });
      return agreed(title, effects, yes);
    },
  });
}
