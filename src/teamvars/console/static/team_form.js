/** The form of a team, new or there already. */

import { Change, send } from "./api.js";
import { button, h } from "./dom.js";
import { choice, field, form, keepTyped, tick } from "./fields.js";

const AT = "/data/attributes";
const VISIBLE = [
  { value: "organization", label: "Everybody in the organization" },
  { value: "secret", label: "Its members and owners" },
];

/** `team` is null for a new one, which is made at `path`; `done(resource)` once it is saved. */
export function teamForm({ path, team, done, cancel }) {
  const start = saidOf(team?.attributes);
  const may = team?.attributes.permissions;
  const named = h("input", { value: start.name, spellcheck: "false" });
  const visibility = choice({ legend: "Who sees it", options: VISIBLE, chosen: start.visibility, pointer: `${AT}/visibility` });
  const manages = tick({ label: "Its members manage teams", checked: start.manages,
    pointer: `${AT}/organization-access/manage-membership`,
    hint: "They add and remove people in every team that they see, but owners." });
  const change = new Change();
  const element = form({
    class: "card",
    onsubmit: async () => {
      const now = { name: named.value.trim(), visibility: visibility.chosen(), manages: manages.box.checked };
      const attributes = attributesOf(now, team && start);
      const data = { type: "teams", ...(team && { id: team.id }), attributes };
      const { document } = await send(team ? "PATCH" : "POST", path, { data }, { change });
      keepTyped(element, false);
      done(document.data);
    },
  },
    h("h2", {}, team ? "Change the team" : "A new team"),
    may?.["can-update-name"] !== false && field({ label: "Name", control: named, pointer: `${AT}/name` }),
    visibility.element,
    may?.["can-destroy"] !== false && manages.element,
    h("div", { class: "actions" },
      h("button", { class: "button primary" }, team ? "Save" : "Create team"), button("Cancel", cancel)));
  return element;
}

function saidOf(attributes) {
  if (!attributes) return { name: "", visibility: "organization", manages: false };
  const { name, visibility } = attributes;
  return { name, visibility, manages: attributes["organization-access"]["manage-membership"] };
}

/** What is another than it was; all of it where nothing was. */
function attributesOf(now, before) {
  const is = (what) => !before || now[what] !== before[what];
  return {
    ...(is("name") && { name: now.name }),
    ...(is("visibility") && { visibility: now.visibility }),
    ...(is("manages") && { "organization-access": { "manage-membership": now.manages } }),
  };
}
