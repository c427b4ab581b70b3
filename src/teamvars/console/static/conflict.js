/** Somebody else was faster: what is there now beside what would become of it, and a choice. */

import { read } from "./api.js";
import { button, h, name, shown, time } from "./dom.js";

/** @import { Answer } from "./api.js" */
/** @import { Contents } from "./variable_form.js" */

/** @type {Record<keyof Contents, string>} */
const NAMES = { key: "Key", value: "Value", description: "Description", category: "Category",
  hcl: "HCL", sensitive: "Sensitive" };

const GONE = "Somebody has deleted it, or you may no longer see it. What you typed is still in the form: copy what you need, or "
  + "leave it.";

/**
 * @param {{trail: string, start: Contents, now: Contents | null, changes: Partial<Contents>, isSensitive: boolean,
 *   mine: () => unknown, theirs: () => unknown, edit: () => unknown}} said `trail` is the path of what was changed;
 *   `start` is what the form began with, `now` is null where it was deleted; `changes` are those of the form
 */
export function conflict({ trail, start, now, changes, isSensitive, mine, theirs, edit }) {
  const who = h("p", { class: "hint" });
  if (now) sayWho(trail, now.key, who);
  const title = now ? "Somebody else was faster" : "This variable is not there any more";
  return h("section", { class: "conflict", "aria-label": title },
    h("h2", { tabindex: -1 }, title), who,
    now ? both(start, now, changes, isSensitive) : h("p", {}, GONE),
    h("div", { class: "actions" },
      now && button("Save mine", mine, { kind: "primary" }),
      button(now ? "Keep theirs" : "Leave it", theirs),
      button("Back to the form", edit)));
}

/**
 * Who changed what, and when, if the trail says so.
 * @param {string} trail
 * @param {string} key
 * @param {Element} place
 */
async function sayWho(trail, key, place) {
  const query = `filter[key]=${encodeURIComponent(key)}&page[size]=1`;
  try {
    /** @type {Answer<Api.AuditEventListDocument>} */
    const { document } = await read(`${trail}?${query}`);
    const { "actor-name": actor, "created-at": at, changed } = document.data[0].attributes;
    place.append(name(actor ?? "Somebody"), ` changed ${changed.join(", ") || "it"} `, time(at), ".");
  } catch {
    place.append("It was changed after you opened it.");
  }
}

/**
 * What either of them has changed.
 * @param {Contents} start
 * @param {Contents} now
 * @param {Partial<Contents>} changes
 * @param {boolean} isSensitive
 */
function both(start, now, changes, isSensitive) {
  const touched = (/** @type {keyof Contents} */ one) => now[one] !== start[one] || one in changes || (one === "value" && isSensitive);
  const rows = /** @type {(keyof Contents)[]} */ (Object.keys(NAMES)).filter(touched).map((one) => {
    const [theirs, mine] = [now[one], changes[one] ?? now[one]];
    return h("tr", { class: theirs !== mine && "differs" },
      h("th", { scope: "row" }, NAMES[one]),
      h("td", { "data-label": "Now" }, said(one, theirs, now.sensitive)),
      h("td", { "data-label": "Yours" }, said(one, mine, isSensitive, one in changes)));
  });
  return h("table", { class: "versions" },
    h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col" }, "Now"), h("th", { scope: "col" }, "Yours"))),
    h("tbody", {}, rows));
}

/**
 * @param {keyof Contents} attribute
 * @param {string | boolean | null} value
 * @param {boolean} isSensitive
 * @param {boolean} [isNew]
 */
function said(attribute, value, isSensitive, isNew = false) {
  if (attribute === "value" && isSensitive) return h("em", {}, isNew ? "the value you typed" : "write-only");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!value) return h("em", {}, "empty");
  return h("pre", { tabindex: 0 }, shown(value));
}
