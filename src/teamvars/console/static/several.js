/**
 * Changes what one has chosen in several workspaces and sets, or sets a key in them: looked at first, each whole or not at
 * all, a few at a time.
 */

import { Change, Refused, Unreachable, read, send } from "./api.js";
import { headed, show } from "./dialogs.js";
import { button, count, h, icon, listed, name, scrolling } from "./dom.js";
import { choice, field, form, leaveButton, tick } from "./fields.js";
import { settleAll } from "./hands.js";
import { workspacesField } from "./named.js";
import { notify } from "./notices.js";
import { effectsText, itemErrors, table } from "./results.js";
import { saysSecret } from "./secrecy.js";
import { editor } from "./value_field.js";

/** @import { Answer } from "./api.js" */
/** @typedef {Api.VariableResult} Result */

/** @typedef {{type: string, id: string, name: string}} Owner a workspace or a set */
/**
 * A variable that is chosen, as it was shown; of one that is to be new, no `version`.
 * @typedef {{id: string, key: string, category: string, sensitive: boolean, version: string | null, owner: Owner}} Chosen
 */

/** @typedef {"value" | "key" | "sensitive" | "delete"} Kind */
/** @typedef {{value?: string, hcl?: true, sensitive?: true}} Attributes */

/**
 * Where a key is set: the path of the organization, the categories, what it is called at first, the workspaces or sets that are
 * chosen, and the names of workspaces that the form begins with where none is.
 * @typedef {{base: string, words: string[], key: string, chosen: Owner[], names: string[]}} Start
 */

/** What becomes of an owner's: `change` has it happen once, however often it is tried. */
class Part {
  change = new Change();
  told = h("td", {}, "…");
  /** @type {"waiting" | "done" | "failed"} */
  state = "waiting";

  /** @param {Chosen[]} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    this.owner = chosen[0].owner;
  }
}

const AT_ONCE = 4;
/** So many are named above the form; the preview has all of them. */
const MOST_NAMED = 20;
const KEY = "/key";
const FLAGS = "/flags";
/** @type {Record<Kind, {title: string, verb: string, done: string, warning: string}>} */
const KINDS = {
  value: { title: "Set one value", verb: "Set", done: "set", warning: "" },
  key: { title: "Set a key", verb: "Set", done: "set", warning: "" },
  sensitive: { title: "Make sensitive", verb: "Make sensitive", done: "sensitive now",
    warning: "There is no way back: nobody can read these values again." },
  delete: { title: "Delete", verb: "Delete", done: "deleted", warning: "They are deleted for ever, and at once." },
};

/**
 * `done(left)` is called when it is closed, with what of these did not become so; once more where some was under way then.
 * @param {Kind} kind
 * @param {Chosen[]} chosen
 * @param {AbortSignal} signal
 * @param {(left: Chosen[]) => unknown} done
 */
export function severalDialog(kind, chosen, signal, done) {
  const those = kind === "sensitive" ? chosen.filter((one) => !one.sensitive) : chosen;
  const several = new Several(kind, those, signal, () => done(several.left));
  show(KINDS[kind].title, (close) => several.begin(close), { wide: true, onclose: () => several.leave() });
}

/**
 * The same of a key that is named in a form. `done(left)` has those that did not get it.
 * @param {Start} start
 * @param {AbortSignal} signal
 * @param {(left: Owner[]) => unknown} done
 */
export function keyDialog(start, signal, done) {
  const several = new Several("key", [], signal, () => done(several.left.map(({ owner }) => owner)));
  show(KINDS.key.title, (close) => several.beginKey(start, close), { wide: true, onclose: () => several.leave() });
}

class Several {
  /** @type {Attributes} */
  #attributes = {};
  #isClosed = false;

  /**
   * @param {Kind} kind
   * @param {Chosen[]} chosen
   * @param {AbortSignal} signal
   * @param {() => unknown} done
   */
  constructor(kind, chosen, signal, done) {
    this.kind = kind;
    this.signal = signal;
    this.done = done;
    this.chosen = chosen;
    this.parts = partsOf(chosen);
    this.preview = h("div", {});
    this.back = button("Back", () => this.#back());
    /** @type {HTMLFormElement | null} */
    this.typing = null;
    /** @type {ReturnType<typeof mixedChoice> | null} */
    this.mixed = null;
    this.element = h("div", {}, this.preview);
  }

  /** What did not become so. */
  get left() {
    return this.parts.filter(({ state }) => state !== "done").flatMap(({ chosen }) => chosen);
  }

  /** @param {Part["state"]} wanted */
  #those(wanted) {
    return this.parts.filter(({ state }) => state === wanted);
  }

  /** The dialog is closed: nothing more of it is begun. */
  leave() {
    this.#isClosed = true;
    this.done();
  }

  /** @param {() => void} close */
  begin(close) {
    this.close = close;
    if (this.kind === "value") this.element.prepend(this.typing = this.#valueForm());
    else {
      if (this.kind === "sensitive") this.#attributes = { sensitive: true };
      const submit = this.#show(); // nothing is typed that has to stay until all is known
      this.#look(this.signal).then(() => this.#offer(submit));
    }
    return this.element;
  }

  /**
   * The key, its value, and where.
   * @param {Start} start
   * @param {() => void} close
   */
  beginKey({ base, words, key: called, chosen, names }, close) {
    this.close = close;
    this.parts = chosen.map((owner) => new Part([{ id: owner.id, key: called, category: "", sensitive: false, version: null, owner }]));
    const key = h("input", { class: "code", value: called, spellcheck: "false", autocapitalize: "none", autofocus: !called,
      oninput: () => settle() });
    const category = choice({ legend: "Category", chosen: words[0], options: words.map((one) => ({ value: one, label: one })),
      onchange: () => settle() });
    const text = editor({ rows: 3, autofocus: called !== "" });
    const hcl = tick({ label: "HCL", checked: false, hint: "The value is an expression, such as a list or a map." });
    const sensitive = tick({ label: "Sensitive", checked: false, hint: "Nobody can read the value again.", onchange: () => settle() });
    const there = choice({ legend: "Where there is one already", chosen: "set",
      options: [{ value: "set", label: "It gets this value" }, { value: "stay", label: "It stays as it is" }] });
    const where = placesField(base, chosen, names);
    const mixed = h("div", {});
    const settle = () => {
      hcl.element.hidden = category.chosen() !== words[0];
      text.input.classList.toggle("masked", sensitive.box.checked || saysSecret(key.value));
    };
    settle();
    this.element.prepend(this.typing = form({ saves: false, busy: "Looking …", onsubmit: async (signal) => {
      const named = { key: key.value, category: category.chosen(), sensitive: sensitive.box.checked, version: null };
      if (!named.key) throw refused("Name a key first.", KEY);
      const found = await where.find(signal);
      const owners = new Map(found.map((one) => [one.id, one]));
      this.parts = [...owners.values()].map((owner) => new Part([{ ...named, id: owner.id, owner }]));
      if (there.chosen() === "set") await inTurns(this.parts, (part) => this.#find(part, signal));
      this.chosen = this.parts.flatMap((part) => part.chosen);
      const isSecret = this.#asked(mixed, named.sensitive);
      this.#attributes = { value: text.input.value, ...(isSecret && { sensitive: true }),
        ...(!hcl.element.hidden && hcl.box.checked && { hcl: true }) };
      await this.#look(signal);
      this.#offer(this.#show());
    } },
      h("div", { class: "columns" }, field({ label: "Key", control: key, pointer: KEY }), category.element),
      field({ label: "Value", control: text.element }),
      h("div", { class: "columns" }, hcl.element, sensitive.element), where.elements, there.element, mixed,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), leaveButton(() => close()))));
    return this.element;
  }

  /**
   * What there is of a key already. Who may not change it is told so later.
   * @param {Part} part
   * @param {AbortSignal} signal
   */
  async #find(part, signal) {
    const [one] = part.chosen;
    const { key, category, owner } = one;
    const document = { data: [{ type: "vars", attributes: { key, category } }], meta: { "dry-run": true } };
    try {
      /** @type {Answer<Api.ResultsDocument>} */
      const answer = await send("POST", `/${owner.type}/${owner.id}/actions/apply`, document, { repeats: true, signal });
      const [{ id }] = answer.document.meta.results;
      if (!id) return;
      const path = `/${owner.type}/${owner.id}/${owner.type === "varsets" ? "relationships/" : ""}vars/${id}`;
      /** @type {Answer<Api.VariableDocument>} */
      const { document: { data } } = await read(path, { signal });
      part.chosen = [{ ...one, sensitive: data.attributes.sensitive, version: data.attributes["version-id"] }];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
  }

  /**
   * Whether all of them become sensitive. Where some are and some are not, that is asked for first.
   * @param {HTMLElement} place of the question
   * @param {boolean} isSaid
   */
  #asked(place, isSaid) {
    const [secret, all] = [this.chosen.filter(({ sensitive }) => sensitive).length, this.chosen.length];
    const isAsked = !isSaid && secret > 0 && secret < all;
    if (!isAsked || this.mixed?.secret !== secret || this.mixed.all !== all) {
      this.mixed = isAsked ? mixedChoice(secret, all) : null; // it was of others
      place.replaceChildren(...(this.mixed ? [this.mixed.element] : []));
    }
    return this.mixed ? this.mixed.isAll() : isSaid;
  }

  /** The value, hidden where one is sensitive or called so; where some are and some are not, what is to become of these. */
  #valueForm() {
    const secret = this.chosen.filter(({ sensitive }) => sensitive).length;
    const isHidden = this.chosen.some(({ key, sensitive }) => sensitive || saysSecret(key));
    const text = editor({ rows: 3, autofocus: true, class: isHidden && "masked" });
    const mixed = secret > 0 && secret < this.chosen.length && mixedChoice(secret, this.chosen.length);
    return form({ saves: false, busy: "Looking …", onsubmit: async (signal) => {
      this.#attributes = { value: text.input.value, ...(mixed && mixed.isAll() && { sensitive: true }) };
      await this.#look(signal);
      this.#offer(this.#show());
    } },
      h("p", { class: "lead" }, this.#counted(this.parts), "."),
      field({ label: "The new value", control: text.element }), mixed && mixed.element,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), leaveButton(() => this.close?.())));
  }

  /** @param {Part[]} parts */
  #counted(parts) {
    const many = parts.reduce((sum, { chosen }) => sum + chosen.length, 0);
    const sets = parts.filter(({ owner }) => owner.type === "varsets").length;
    const places = [[parts.length - sets, "workspace"], [sets, "variable set"]];
    const told = places.filter(([number], at) => number || (!at && !sets)).map(([number, noun]) => count(Number(number), String(noun)));
    return `${count(many, "variable")} in ${told.join(" and ")}`;
  }

  /**
   * Asks what would become of each.
   * @param {AbortSignal} signal
   */
  async #look(signal) {
    for (const part of this.parts) part.state = "waiting";
    await inTurns(this.parts, (part) => this.#try(part, true, signal));
  }

  /** Shows what becomes of each; returns the button that makes it so, for `#offer`. */
  #show() {
    const { warning } = KINDS[this.#attributes.sensitive ? "sensitive" : this.kind];
    const submit = h("button", { class: "button primary", hidden: true });
    const lead = h("p", { class: "lead" }, `${this.#counted(this.parts)}.`);
    const element = form({ isMissed: false, busy: "Working …", onsubmit: (waiting) => this.#make(submit, waiting) },
      lead, warning && h("p", { class: "notice caution" }, icon("warning"), warning), this.#table(),
      h("div", { class: "actions" }, submit, this.typing && this.back, leaveButton(() => this.close?.(), "Close")));
    if (this.typing) this.typing.hidden = true;
    this.preview.replaceChildren(element);
    return submit;
  }

  /** To what was typed, before anything is made of it. */
  #back() {
    this.preview.replaceChildren();
    if (this.typing) this.typing.hidden = false;
    settleAll();
    this.typing?.querySelector("textarea")?.focus();
  }

  #table() {
    const rows = this.parts.map((part) =>
      h("tr", {}, h("th", { scope: "row" }, name(part.owner.name)), part.told));
    return scrolling("By workspace or set", table("results compared", ["Where", "What becomes of it"], rows));
  }

  /**
   * Asks whether what is shown is to be made so.
   * @param {HTMLButtonElement} submit
   */
  #offer(submit) {
    const ready = this.#those("waiting");
    submit.hidden = !ready.length;
    submit.textContent = `${KINDS[this.kind].verb}: ${this.#counted(ready)}`;
    headed(this.element);
  }

  /**
   * Makes it so where it can be, and says where it is not: that can be tried again.
   * @param {HTMLButtonElement} submit
   * @param {AbortSignal} signal
   */
  async #make(submit, signal) {
    this.back.remove();
    await inTurns(this.#those("waiting"), (part) => this.#try(part, false, signal));
    const told = `${this.#counted(this.#those("done"))} ${KINDS[this.kind].done}.`;
    if (this.signal.aborted) return notify("told", told); // whoever has left the page is told where they are now
    if (this.#isClosed) this.done(); // some was under way then
    else if (!this.left.length) this.close?.();
    if (this.#isClosed) return notify("told", told);
    const again = button("Try again", () => {
      for (const part of this.#those("failed")) part.state = "waiting";
      again.remove();
      submit.hidden = false;
      submit.focus();
      submit.click();
    });
    submit.hidden = true;
    submit.after(again);
    headed(this.element); // what had the focus is hidden
    throw new Error(`${told} ${this.#counted(this.#those("failed"))} failed: each of these says why.`);
  }

  /**
   * Sends a workspace's, and tells what becomes of it. Where that cannot be foreseen for the moment, whoever has typed a
   * value keeps it.
   * @param {Part} part
   * @param {boolean} dryRun
   * @param {AbortSignal} signal
   */
  async #try(part, dryRun, signal) {
    if (this.#isClosed || this.signal.aborted) return;
    const data = part.chosen.map(({ key, category, version }) => ({ type: "vars", attributes: { key, category, ...this.#attributes },
      meta: { "version-id": version, ...(this.kind === "delete" && { delete: true }) } }));
    const document = { data, meta: { versioned: true, "dry-run": dryRun } };
    try {
      /** @type {Answer<Api.ResultsDocument & {meta: {effects?: Api.EffectsOnWorkspaces}}>} */
      const answer = await send("POST", `/${part.owner.type}/${part.owner.id}/actions/apply`, document,
        dryRun ? { repeats: true, signal } : { change: part.change, signal });
      const { results, effects } = answer.document.meta;
      part.told.replaceChildren(...results.map((one) => outcome(one, !dryRun)));
      if (!dryRun) part.state = "done"; // whether or not what it does elsewhere can be told
      if (effects) part.told.append(await effectsText(effects));
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
      if (part.state === "done") return;
      if (dryRun && "value" in this.#attributes && mayPass(error)) throw error;
      part.told.replaceChildren(why(error, part.chosen));
      part.state = "failed";
    }
  }
}

/**
 * By owner, in the order of these.
 * @param {Chosen[]} chosen
 */
function partsOf(chosen) {
  return [...Map.groupBy(chosen, ({ owner }) => owner.id).values()].map((those) => new Part(those));
}

/**
 * Where some are sensitive and some are not: what becomes of the others. `isAll()` refuses while that is not said.
 * @param {number} secret
 * @param {number} all
 */
function mixedChoice(secret, all) {
  /** @type {"" | "stay" | "all"} */
  let said = "";
  const { element } = choice({ legend: `${secret} of ${all} are sensitive`, chosen: said, pointer: FLAGS,
    options: [{ value: "stay", label: "Each stays as it is" }, { value: "all", label: "Make all of them sensitive" }],
    onchange: (chosen) => {
      said = chosen;
    } });
  const isAll = () => {
    if (!said) throw refused("Choose whether those that can be read become sensitive.", FLAGS);
    return said === "all";
  };
  return { element, isAll, secret, all };
}

/**
 * Where the key is set: what is chosen, or workspaces that are named.
 * @param {string} base
 * @param {Owner[]} chosen
 * @param {string[]} names
 * @returns {{elements: Element[], find: (signal: AbortSignal) => Promise<Owner[]>}}
 */
function placesField(base, chosen, names) {
  if (chosen.length) {
    const some = chosen.slice(0, MOST_NAMED).map((one) => h("strong", {}, name(one.name)));
    const more = chosen.length - some.length;
    const called = h("p", {}, "In ", listed(some), more > 0 && ` and ${more.toLocaleString("en")} more`, ".");
    return { elements: [called], find: async () => chosen };
  }
  const { elements, find } = workspacesField(base, "/workspaces", names);
  const owners = async (/** @type {AbortSignal} */ signal) =>
    (await find(signal)).map(({ id, attributes }) => ({ type: "workspaces", id, name: attributes.name }));
  return { elements, find: owners };
}

/**
 * Does it for all, a few at a time. Once one throws, none is begun any more, and nothing goes on behind whoever is told.
 * @param {Part[]} parts
 * @param {(part: Part) => Promise<void>} work
 */
async function inTurns(parts, work) {
  const waiting = [...parts];
  const go = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) {
      await work(part).catch((error) => {
        waiting.length = 0;
        throw error;
      });
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, go));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}

/**
 * @param {Result} result
 * @param {boolean} isDone
 */
function outcome({ key, outcome: kind, changed }, isDone) {
  const what = { created: "new", updated: changed.join(", "), unchanged: "the same", deleted: "deleted" }[kind];
  return h("div", {}, name(key), " ", h("span", { class: `outcome ${kind}` }, isDone ? `${what}: done` : what));
}

/**
 * Said at the field.
 * @param {string} detail
 * @param {string} pointer
 */
function refused(detail, pointer) {
  return new Refused(422, [{ detail, source: { pointer } }]);
}

/**
 * Whether it is about the server, and not about what was sent.
 * @param {Refused | Unreachable} error
 */
function mayPass(error) {
  return error instanceof Unreachable || error.status === 429 || error.status >= 500;
}

/**
 * @param {Refused | Unreachable} error
 * @param {Chosen[]} chosen
 * @returns {Element}
 */
function why(error, chosen) {
  if (error instanceof Unreachable) return h("p", { class: "error" }, "No answer came. To try again does it only once.");
  if (error.status === 412 && chosen[0].version === null) return h("p", { class: "error" }, "It is there already, and stays as it is.");
  return h("ul", {}, itemErrors(error, (at) => chosen[at]));
}
