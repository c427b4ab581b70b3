/** Whether the members of an organization have to sign in, for its owners. */

import { Change, Refused, changed, send } from "./api.js";
import { h } from "./dom.js";
import { form, keepTyped, tick } from "./fields.js";
import { organizationHead, readOrganization } from "./heads.js";
import { notify } from "./notices.js";

/** @import { Answer } from "./api.js" */
/** @import { Context } from "./pages.js" */

const REQUIRED = "sso-required";

/** @param {Context} context */
export async function organizationSettingsPage(context) {
  const found = await readOrganization(context);
  if (!found.attributes.permissions["can-update"]) throw new Refused(404, []);
  return h("section", {}, organizationHead(found, "settings"),
    h("div", { class: "narrow" }, h("h2", { class: "part" }, "Signing in"), signInRule(found, context)));
}

/**
 * @param {Api.OrganizationResource} organization
 * @param {Context} context
 */
function signInRule({ id, attributes }, { go }) {
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
      const said = { [REQUIRED]: rule.box.checked };
      const data = { type: "organizations", id, attributes: changed({ [REQUIRED]: attributes[REQUIRED] }, said) };
      /** @type {Answer<Api.OrganizationDocument>} */
      const { document } = await send("PATCH", `/organizations/${encodeURIComponent(id)}`, { data }, { change, signal });
      keepTyped(element, false);
      await go(location.pathname, { replace: true });
      notify("told", document.data.attributes[REQUIRED] ? "Members have to sign in." : "Members need not sign in.");
    },
  },
    rule.element,
    h("div", { class: "actions" }, h("button", { class: "button primary" }, "Save")));
  return element;
}
