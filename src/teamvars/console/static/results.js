/** What an import or a copy would do, as a table, before it is done. */

import { late } from "./api.js";
import { button, h, name, scrolling, shown } from "./dom.js";
import { settleAll } from "./hands.js";

/** @import { Child } from "./dom.js" */
/** @typedef {Api.VariableResult} Result */

/** @type {Record<Result["outcome"], string>} */
const MARKS = { created: "new", updated: "changed", unchanged: "same", deleted: "deleted" };
const MOST_ROWS = 200;

/**
 * What tells variables of a workspace apart.
 * @param {{key: string, category: string}} variable
 */
export function nameOf({ key, category }) {
  return `${category} ${key}`;
}

/**
 * "2 new, 1 changed, 3 the same".
 * @param {Result[]} results
 */
export function summaryOf(results) {
  const many = (/** @type {Result["outcome"]} */ outcome) => results.filter((one) => one.outcome === outcome).length;
  const parts = [[many("created"), "new"], [many("updated"), "changed"], [many("unchanged"), "the same"]];
  return parts.filter(([number]) => number).map(([number, word]) => `${number} ${word}`).join(", ");
}

/**
 * How many of them change something.
 * @param {Result[]} results
 */
export function changesOf(results) {
  return results.filter((one) => one.outcome !== "unchanged").length;
}

/**
 * The table; what changes comes first.
 * @param {Result[]} results
 * @param {string} heading of the last column
 * @param {(result: Result) => Child} more what stands in it
 * @param {(result: Result) => Child} [first] what stands before the outcome
 */
export function resultTable(results, heading, more, first = () => null) {
  const sorted = [...results].sort((a, b) => Number(a.outcome === "unchanged") - Number(b.outcome === "unchanged"));
  return longTable("results", ["Outcome", "Key", heading], sorted, (one) =>
    h("tr", {},
      h("td", {}, first(one), h("span", { class: `outcome ${one.outcome}` }, MARKS[one.outcome])),
      h("th", { scope: "row" }, name(one.key), h("span", { class: "description" }, one.category)),
      h("td", {}, more(one))), "What would change");
}

/**
 * A table of that kind, with a row of each: of many the rest once one asks for it, since thousands take seconds. In a
 * dialog it has a `label`, and is scrolled there.
 * @template T
 * @param {string} kind
 * @param {Child[]} headings
 * @param {T[]} all
 * @param {(one: T) => Element} rowOf
 * @param {string} [label]
 */
export function longTable(kind, headings, all, rowOf, label) {
  const element = table(kind, headings, all.slice(0, MOST_ROWS).map(rowOf));
  const rest = all.length - MOST_ROWS;
  // Some at a time: whoever types meanwhile goes on.
  const add = (/** @type {number} */ from) => {
    element.tBodies[0].append(...all.slice(from, from + MOST_ROWS).map(rowOf));
    if (from + MOST_ROWS < all.length) setTimeout(() => element.isConnected && add(from + MOST_ROWS));
  };
  const show = button(`Show ${rest.toLocaleString("en")} more`, () => {
    add(MOST_ROWS);
    const next = element.tBodies[0].rows[MOST_ROWS]; // who has no pointer goes on there
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    show.parentElement?.remove();
    settleAll(); // what comes in its place agrees to all of it
  }, { kind: "rest" });
  return [label ? scrolling(label, element) : element, rest > 0 && h("div", { class: "actions" }, show)];
}

/**
 * A table of that kind.
 * @param {string} kind
 * @param {Child[]} headings
 * @param {Element[]} rows
 */
export function table(kind, headings, rows) {
  return h("table", { class: kind },
    h("thead", {}, h("tr", {}, headings.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, rows));
}

/**
 * Errors of items, by the keys they are about; `itemAt(number)` is what the request had there.
 * @param {import("./api.js").Refused} error
 * @param {(at: number) => {key: string}} itemAt
 */
export function itemErrors(error, itemAt) {
  return error.errors.map((one) => {
    const [, at] = /^\/data\/(?:attributes\/keys\/)?(\d+)/.exec(one.source?.pointer ?? "") ?? [];
    const item = at === undefined ? null : itemAt(Number(at));
    return h("li", { class: "error" }, item && [h("strong", {}, name(item.key)), ": "], shown(one.detail));
  });
}

/**
 * What an import or a copy into a set would do to workspaces.
 * @param {Api.EffectsOnWorkspaces} effects
 */
export async function effectsText(effects) {
  const { summaryOf, workspacesOf } = await late(() => import("./set_effects.js"));
  return h("div", {}, h("p", {}, summaryOf(effects)), workspacesOf(effects));
}
