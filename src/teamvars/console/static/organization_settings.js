/** Whether the members of an organization have to sign in, for its owners. */

import { Change, Refused, send } from "./api.js";
import { h } from "./dom.js";
import { form, keepTyped, tick } from "./fields.js";
import { organizationHead, readOrganization } from "./heads.js";
import { notify } from "./notices.js";

/** @import { Context } from "./pages.js" */

const REQUIRED = "sso-required";

/** @param {Context} context */
export async function organizationSettingsPage(context) {
  const found = await readOrganization(context);
  if (!found.attributes.permissions["can-update"]) throw new Refused(404, []);
  return h("section", {}, organizationHead(found, "settings"),
    h("div", { class: "narrow" }, h("h2", { class: "part" }, "Signing in"), signInRule(found)));
}

/** @param {Api.OrganizationResource} organization */
function signInRule({ id, attributes }) {
  const change = new Change();
  const rule = tick({
    label: "Members have to sign in", checked: attributes[REQUIRED], pointer: `/data/attributes/${REQUIRED}`,
    hint: "Tokens of users are good here only if somebody made them while signed in with a provider. Runners, and the tokens "
      + "of teams and of the organization, go on. Only an owner who has signed in changes this.",
  });
  /** @type {HTMLFormElement} */
  const element = form({
    class: "card", "aria-label": "Signing in",
    onsubmit: async (signal) => {
      const data = { type: "organizations", id, attributes: { [REQUIRED]: rule.box.checked } };
      await send("PATCH", `/organizations/${encodeURIComponent(id)}`, { data }, { change, signal });
      keepTyped(element, false);
      notify("told", rule.box.checked ? "Members have to sign in from now on." : "Members need not sign in any more.");
    },
  },
    rule.element,
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Save")));
  return element;
}
