/** Two workspaces side by side: what is only in one, what is different, and what is the same; and copies of it across. */

import { Refused, Unreachable, newest, orTold, read } from "./api.js";
import { Copying, copyForm, held } from "./copying.js";
import { show } from "./dialogs.js";
import { button, count, h, listed, little, name, within } from "./dom.js";
import { choice, field, form, isOvertaken, say, takeBox } from "./fields.js";
import { stay } from "./hands.js";
import { readWorkspace, workspaceHead } from "./heads.js";
import { findReadable, namesOf } from "./named.js";
import { clear, notify, whenBack } from "./notices.js";
import { address } from "./pages.js";
import { redraw } from "./redraw.js";
import { longTable, nameOf, summaryOf } from "./results.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { Context } from "./pages.js" */

/** @typedef {"here" | "there"} Side */
/** @typedef {Side | "different" | "unknown" | "same"} Group */
/** @typedef {Pick<Api.VariableAttributes, "key" | "value" | "description" | "category" | "hcl" | "sensitive" | "version-id">} Compared */
/** @typedef {{here?: Compared, there?: Compared}} Pair */

/** @type {Group[]} */
const GROUPS = ["there", "here", "different", "unknown", "same"];
/** @type {Side[]} */
const SIDES = ["here", "there"];
/** @type {Record<Side, Side>} */
const OTHER = { here: "there", there: "here" };
const ALSO = "Also different";
const WITH = "/with";
const NOW = "What there is now";
const STALE = "Somebody has changed variables meanwhile. This is what there is now.";

/** @param {Context} context */
export async function comparePage(context) {
  const { found, owns } = await readWorkspace(context);
  const comparison = new Comparison(context, found, owns);
  const { other, choosing } = comparison;
  if (other.value) await comparison.compare(context.signal).catch((error) => say(choosing, error));
  return comparison.element;
}

class Comparison {
  #asks = newest();
  /** @type {Pair[]} */
  #pairs = [];
  /**
   * Of those that can be copied, also of those without a row yet.
   * @type {Set<Pair>}
   */
  #chosen = new Set();
  /** @type {Record<Side, Api.WorkspaceResource>} */
  #of;

  /**
   * @param {Context} context
   * @param {Api.WorkspaceResource} here
   * @param {boolean} owns
   */
  constructor(context, here, owns) {
    this.owns = owns;
    this.signal = context.signal;
    this.#of = { here, there: here };
    this.base = `/organizations/${encodeURIComponent(context.organization)}`;
    const { input, names } = namesOf(this.base, "workspace", { value: address.said("with") });
    this.other = input;
    this.kind = choice({ legend: "Variables", chosen: address.said("effective") ? "effective" : "own",
      options: [{ value: "own", label: "Their own" }, { value: "effective", label: "All that they get" }],
      onchange: () => this.other.value && this.choosing.requestSubmit() });
    this.choosing = form({ onsubmit: (signal) => this.compare(signal), isMissed: false, saves: false, busy: "Reading …" },
      field({ label: "With workspace", control: this.other, pointer: WITH, hint: "Another one that you may read." }), names,
      this.kind.element, h("div", { class: "actions" }, h("button", { class: "button primary" }, "Compare")));
    this.acts = h("div", { class: "actions", role: "status" });
    this.groups = h("div", {});
    this.element = h("section", {}, workspaceHead(context, here, "compare"), this.choosing, this.acts, this.groups);
    whenBack(() => this.#again(), this.signal);
  }

  get #isEffective() {
    return this.kind.chosen() === "effective";
  }

  /**
   * Shows this one beside the one that is named; nothing where that cannot be read.
   * @param {AbortSignal} signal
   */
  async compare(signal) {
    const called = this.other.value.trim();
    address.keep("with", called);
    address.keep("effective", this.#isEffective ? "1" : "");
    clear(NOW); // it was about what was compared before
    try {
      await this.#show(await this.#find(called, signal), signal);
    } catch (error) {
      this.#nothing();
      throw error;
    }
  }

  /**
   * Reads both, and shows them, unless another one is asked for by then.
   * @param {Api.WorkspaceResource} other
   * @param {AbortSignal} signal
   */
  async #show(other, signal) {
    const isNewest = this.#asks();
    const [here, there] = await Promise.all([this.#read(this.#of.here, signal), this.#read(other, signal)]);
    if (!isNewest()) return;
    const pairs = paired(here, there);
    const isSame = pairs.map(seenOf).join() === this.#pairs.map(seenOf).join();
    if (isSame && other === this.#of.there) return; // thousands of rows take seconds
    // Only now: what is shown until then is copied to and from where it is.
    if (other.id !== this.#of.there.id) this.#chosen.clear();
    this.#of.there = other;
    this.#draw(pairs);
  }

  /** What others have changed shows once one comes back to the page, or the server is back. */
  async #again() {
    if (!this.groups.childElementCount || this.choosing.matches("[aria-busy]")) return;
    await this.#refresh();
  }

  /** Reads both anew; where that is refused, none is shown. */
  async #refresh() {
    await orTold(NOW, () => this.#show(this.#of.there, this.signal).catch((error) => {
      if (!(error instanceof Unreachable)) this.#nothing();
      throw error;
    }));
  }

  /** Shows none, whatever is being read. What is chosen is so again once it is shown. */
  #nothing() {
    this.#asks();
    this.#pairs = [];
    for (const place of [this.groups, this.acts]) redraw(place, []);
  }

  /**
   * The other one, by its name. Refuses one that there is not, and this one, at the field.
   * @param {string} called
   * @param {AbortSignal} signal
   */
  async #find(called, signal) {
    const found = await findReadable(this.base, called, WITH, signal);
    if (found.id !== this.#of.here.id) return found;
    throw new Refused(404, [{ detail: "This is the same workspace.", source: { pointer: WITH } }]);
  }

  /**
   * @param {Api.WorkspaceResource} of
   * @param {AbortSignal} signal
   * @returns {Promise<Compared[]>}
   */
  async #read(of, signal) {
    const path = `/workspaces/${of.id}/${this.#isEffective ? "all-vars" : "vars"}`;
    /** @type {Answer<Api.VariableListDocument>} */
    const { document } = await read(path, { signal });
    return document.data.map((one) => one.attributes);
  }

  /**
   * Shows these. What is as it was stays as it is: chosen, and with its rows.
   * @param {Pair[]} pairs
   */
  #draw(pairs) {
    const known = new Map([...this.#pairs, ...this.#chosen].map((one) => [seenOf(one), one]));
    this.#pairs = pairs.map((one) => known.get(seenOf(one)) ?? one);
    this.#chosen = new Set(this.#pairs.filter((one) => this.#mayChoose(one) && this.#chosen.has(one)));
    const groups = GROUPS.map((group) => {
      const its = this.#pairs.filter((one) => groupOf(one) === group);
      const seen = [this.#of.there.id, this.#called("there"), ...its.map((one) => [seenOf(one), this.#mayChoose(one)])].join();
      return { key: group, seen, make: () => this.#group(group, its) };
    });
    const none = { key: "none", seen: true, make: () => h("p", { class: "hint" }, "Neither of the two has a variable.") };
    redraw(this.groups, pairs.length ? groups : [none]);
    this.#tell();
  }

  /**
   * @param {Group} group
   * @param {Pair[]} pairs
   */
  #group(group, pairs) {
    const those = pairs.filter((one) => this.#mayChoose(one));
    const all = takeBox("All:", { onchange: ({ target: { checked } }) => {
      for (const box of within(element, "tbody input")) /** @type {HTMLInputElement} */ (box).checked = checked;
      this.#choose(those, checked);
    } });
    const element = h("section", { hidden: !pairs.length },
      h("h2", { class: "part" }, those.length > 0 && all.element, this.#titleOf(group),
        h("span", { class: "number" }, ` ${pairs.length.toLocaleString("en")}`)),
      group === "unknown" && h("p", { class: "hint" }, "Nobody can read a sensitive value, so whether these are the same is not known."),
      longTable("results compared", ["Key", ...SIDES.map((side) => this.#called(side)), ALSO], pairs, (one) => this.#row(one)));
    return element;
  }

  /** @param {Pair} pair */
  #row(pair) {
    const { key, category } = anyOf(pair);
    return h("tr", {},
      h("th", { scope: "row" }, this.#boxOf(pair), name(key), h("span", { class: "description" }, category)),
      SIDES.map((side) => h("td", { "data-label": this.#called(side) }, pair[side] && little(pair[side], pair[OTHER[side]]?.value))),
      h("td", { "data-label": ALSO }, listed(differences(pair).filter((one) => one !== "value"))));
  }

  /** @param {Pair} pair */
  #boxOf(pair) {
    return this.#mayChoose(pair) && takeBox(`Choose ${anyOf(pair).key}`, { checked: this.#chosen.has(pair),
      onchange: ({ target }) => this.#choose([pair], target.checked) }).element;
  }

  /**
   * @param {Pair[]} pairs
   * @param {boolean} are
   */
  #choose(pairs, are) {
    for (const one of pairs) this.#chosen[are ? "add" : "delete"](one);
    this.#tell();
  }

  /** @param {Pair} pair */
  #mayChoose(pair) {
    return this.#mayCopy(pair, "here") || this.#mayCopy(pair, "there");
  }

  /**
   * Whether it can be copied from a side: what is sensitive, by owners alone.
   * @param {Pair} pair
   * @param {Side} from
   */
  #mayCopy(pair, from) {
    const may = this.#of[OTHER[from]].attributes.permissions["can-update-variable"];
    const original = pair[from];
    return may && !this.#isEffective && original !== undefined && groupOf(pair) !== "same" && (this.owns || !original.sensitive);
  }

  /** @param {Side} side */
  #called(side) {
    return this.#of[side].attributes.name;
  }

  /**
   * @param {Group} group
   * @returns {Child}
   */
  #titleOf(group) {
    if (group === "here" || group === "there") return ["Only in ", name(this.#called(group))];
    return { different: "Different", unknown: "Sensitive, compared by key alone", same: "The same" }[group];
  }

  /** Says what can be done with what is chosen. */
  #tell() {
    redraw(this.acts, SIDES.toReversed().flatMap((from) => {
      const pairs = this.#pairs.filter((one) => this.#chosen.has(one) && this.#mayCopy(one, from));
      const make = () => button(h("span", {}, "Copy ", count(pairs.length, "variable"), " to ", name(this.#called(OTHER[from]))),
        () => this.#copy(from, pairs), { picture: "copy" });
      return pairs.length ? [{ key: from, seen: {}, make }] : [];
    }));
  }

  /**
   * Shows what copies of these would do, and makes them once that is agreed to: as they are shown here, or not at all.
   * @param {Side} from
   * @param {Pair[]} pairs
   */
  async #copy(from, pairs) {
    const isStill = stay();
    const target = this.#of[OTHER[from]];
    const copying = new Copying(`/workspaces/${target.id}`);
    const keys = pairs.map((pair) => held(/** @type {Compared} */ (pair[from]), pair[OTHER[from]]));
    const said = { sourceId: this.#of[from].id, keys, conflict: /** @type {const} */ ("replace") };
    const meta = await this.#unlessStale(this.element, () => copying.look(said, this.signal));
    if (!meta || !isStill()) return;
    show(["Copy to ", name(target.attributes.name)], (close) => {
      const copy = async (/** @type {AbortSignal} */ signal) => {
        const isMade = await this.#unlessStale(element, async () => {
          await copying.make(said, signal);
          return true;
        });
        close();
        if (!isMade) return;
        notify("told", `Copied: ${summaryOf(meta.results)}.`);
        await this.#refresh();
      };
      const element = copyForm(meta.results, { close, copy });
      return element;
    }, { wide: true });
  }

  /**
   * What came of it. Where somebody has changed meanwhile what is shown, null: what there is now is shown.
   * @template T
   * @param {Element} from what it is sent from
   * @param {() => Promise<T>} work
   * @returns {Promise<T | null>}
   */
  async #unlessStale(from, work) {
    try {
      return await work();
    } catch (error) {
      if (!isOvertaken(error, from)) throw error;
      await this.#show(this.#of.there, this.signal);
      notify("told", STALE, { caution: true });
      return null;
    }
  }
}

/**
 * Every name that one of the two has, in order.
 * @param {Compared[]} here
 * @param {Compared[]} there
 */
function paired(here, there) {
  /** @type {Map<string, Pair>} */
  const pairs = new Map();
  const pairOf = (/** @type {Compared} */ one) => {
    const called = nameOf(one);
    const pair = pairs.get(called) ?? {};
    pairs.set(called, pair);
    return pair;
  };
  for (const one of here) pairOf(one).here = one;
  for (const one of there) pairOf(one).there = one;
  return [...pairs.values()].sort((a, b) => (anyOf(a).key < anyOf(b).key ? -1 : 1));
}

/**
 * What a pair was when it was seen.
 * @param {Pair} pair
 */
function seenOf(pair) {
  return [nameOf(anyOf(pair)), pair.here?.["version-id"], pair.there?.["version-id"]].join(" ");
}

/** @param {Pair} pair */
function anyOf({ here, there }) {
  return /** @type {Compared} */ (here ?? there);
}

/**
 * @param {Pair} pair
 * @returns {Group}
 */
function groupOf(pair) {
  const { here, there } = pair;
  if (!here || !there) return here ? "here" : "there";
  if (differences(pair).length) return "different";
  return here.sensitive || there.sensitive ? "unknown" : "same";
}

/**
 * What the two are known to differ in. Nobody knows it of a sensitive value.
 * @param {Pair} pair
 */
function differences({ here, there }) {
  if (!here || !there) return [];
  const isKnown = !here.sensitive && !there.sensitive;
  return [
    isKnown && here.value !== there.value && "value",
    here.category !== "env" && here.hcl !== there.hcl && "hcl",
    here.sensitive !== there.sensitive && "sensitive",
    here.description !== there.description && "description",
  ].filter((one) => one !== false);
}
