/**
 * Changes what one has chosen in several workspaces, or adds a key to them: looked at first, each workspace whole or not at
 * all, a few at a time.
 */

import { Change, Refused, Unreachable, send } from "./api.js";
import { show } from "./dialogs.js";
import { button, count, h, icon, name, scrolling } from "./dom.js";
import { choice, field, form, leaveButton, tick } from "./fields.js";
import { workspacesField } from "./named.js";
import { notify } from "./notices.js";
import { itemErrors, table } from "./results.js";
import { saysSecret } from "./secrecy.js";
import { editor } from "./value_field.js";

/** @import { Answer } from "./api.js" */
/** @typedef {Api.VariableResult} Result */

/**
 * A variable that is chosen, as it was shown; of one that is to be new, no `version`.
 * @typedef {{id: string, key: string, category: string, sensitive: boolean, version: string | null,
 *   workspace: {id: string, name: string}}} Chosen
 */

/** @typedef {"value" | "new" | "sensitive" | "delete"} Kind */
/** @typedef {{value?: string, hcl?: true, sensitive?: true}} Attributes */

/** What becomes of a workspace's: `change` has it happen once, however often it is tried. */
class Part {
  change = new Change();
  told = h("td", {}, "…");
  /** @type {"waiting" | "done" | "failed"} */
  state = "waiting";

  /** @param {Chosen[]} chosen */
  constructor(chosen) {
    this.chosen = chosen;
    this.workspace = chosen[0].workspace;
  }
}

const AT_ONCE = 4;
/** @type {Record<Kind, {title: string, verb: string, done: string, warning: string}>} */
const KINDS = {
  value: { title: "Set one value", verb: "Set", done: "set", warning: "" },
  new: { title: "Add a key to workspaces", verb: "Add", done: "added", warning: "" },
  sensitive: { title: "Make sensitive", verb: "Make sensitive", done: "sensitive now",
    warning: "There is no way back: nobody can read these values again." },
  delete: { title: "Delete", verb: "Delete", done: "deleted", warning: "They are deleted for ever, and at once." },
};

/**
 * `done(left)` is called when it is closed, with what of these did not become so.
 * @param {Kind} kind
 * @param {Chosen[]} chosen
 * @param {AbortSignal} signal
 * @param {(left: Chosen[]) => unknown} done
 */
export function severalDialog(kind, chosen, signal, done) {
  const several = new Several(kind, kind === "sensitive" ? chosen.filter((one) => !one.sensitive) : chosen, signal);
  show(KINDS[kind].title, (close) => several.begin(close), { wide: true, onclose: () => done(several.left) });
}

/**
 * The same of a key that is new in workspaces which are named in a form. `done(left)` has the names of those that did not get it.
 * @param {string} base the path of the organization
 * @param {string[]} words the categories
 * @param {string[]} names what the form begins with
 * @param {AbortSignal} signal
 * @param {(left: string[]) => unknown} done
 */
export function newKeyDialog(base, words, names, signal, done) {
  const several = new Several("new", [], signal);
  show(KINDS.new.title, (close) => several.beginNew(base, words, names, close), { wide: true,
    onclose: () => done(several.left.map(({ workspace }) => workspace.name)) });
}

class Several {
  /** @type {Attributes} */
  #attributes = {};

  /**
   * @param {Kind} kind
   * @param {Chosen[]} chosen
   * @param {AbortSignal} signal
   */
  constructor(kind, chosen, signal) {
    this.kind = kind;
    this.signal = signal;
    this.chosen = chosen;
    this.parts = partsOf(chosen);
    this.element = h("div", {});
  }

  /** What did not become so. */
  get left() {
    return this.parts.filter(({ state }) => state !== "done").flatMap(({ chosen }) => chosen);
  }

  /** @param {Part["state"]} wanted */
  #those(wanted) {
    return this.parts.filter(({ state }) => state === wanted);
  }

  /** @param {() => void} close */
  begin(close) {
    this.close = close;
    if (this.kind === "value") this.element.append(this.#valueForm());
    else {
      if (this.kind === "sensitive") this.#attributes = { sensitive: true };
      this.#look(this.signal);
    }
    return this.element;
  }

  /**
   * What is new, and where.
   * @param {string} base
   * @param {string[]} words
   * @param {string[]} names
   * @param {() => void} close
   */
  beginNew(base, words, names, close) {
    this.close = close;
    const key = h("input", { class: "code", spellcheck: "false", autocapitalize: "none", autofocus: true, oninput: () => settle() });
    const category = choice({ legend: "Category", chosen: words[0], options: words.map((one) => ({ value: one, label: one })),
      onchange: () => settle() });
    const text = editor({ rows: 3 });
    const hcl = tick({ label: "HCL", checked: false, hint: "The value is an expression, such as a list or a map." });
    const sensitive = tick({ label: "Sensitive", checked: false, hint: "Nobody can read the value again.", onchange: () => settle() });
    const where = workspacesField(base, "/workspaces", names);
    const settle = () => {
      hcl.element.hidden = category.chosen() !== words[0];
      text.input.classList.toggle("masked", sensitive.box.checked || saysSecret(key.value));
    };
    settle();
    this.element.append(form({ busy: "Looking …", onsubmit: async (signal) => {
      const called = { key: key.value, category: category.chosen(), sensitive: sensitive.box.checked, version: null };
      if (!called.key) throw new Error("Name a key first.");
      const found = await where.find(signal);
      const workspaces = new Map(found.map(({ id, attributes }) => [id, { id, name: attributes.name }]));
      this.chosen = [...workspaces.values()].map((workspace) => ({ ...called, id: workspace.id, workspace }));
      this.parts = partsOf(this.chosen);
      this.#attributes = { value: text.input.value, ...(called.sensitive && { sensitive: true }),
        ...(!hcl.element.hidden && hcl.box.checked && { hcl: true }) };
      text.input.value = "";
      await this.#look(signal);
    } },
      h("div", { class: "columns" }, field({ label: "Key", control: key }), category.element),
      field({ label: "Value", control: text.element }),
      h("div", { class: "columns" }, hcl.element, sensitive.element), where.elements,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), leaveButton(() => close()))));
    return this.element;
  }

  /** The value, hidden where one is sensitive or called so; where some are and some are not, what is to become of these. */
  #valueForm() {
    const secret = this.chosen.filter(({ sensitive }) => sensitive).length;
    const isHidden = this.chosen.some(({ key, sensitive }) => sensitive || saysSecret(key));
    const text = editor({ rows: 3, autofocus: true, class: isHidden && "masked" });
    const isMixed = secret > 0 && secret < this.chosen.length;
    /** @type {"" | "stay" | "all"} */
    let said = "";
    const mixed = choice({ legend: `${secret} of ${this.chosen.length} are sensitive`, chosen: said, pointer: "/flags",
      options: [{ value: "stay", label: "Each stays as it is" }, { value: "all", label: "Make all of them sensitive" }],
      onchange: (chosen) => {
        said = chosen;
      } });
    return form({ busy: "Looking …", onsubmit: async (signal) => {
      if (isMixed && !said) throw new Error("Choose whether those that can be read become sensitive.");
      this.#attributes = { value: text.input.value, ...(said === "all" && { sensitive: true }) };
      text.input.value = "";
      await this.#look(signal);
    } },
      h("p", { class: "lead" }, this.#counted(this.parts), "."),
      field({ label: "The new value", control: text.element }), isMixed && mixed.element,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Preview"), leaveButton(() => this.close?.())));
  }

  /** @param {Part[]} parts */
  #counted(parts) {
    const many = parts.reduce((sum, { chosen }) => sum + chosen.length, 0);
    return `${count(many, "variable")} in ${count(parts.length, "workspace")}`;
  }

  /**
   * Shows what would become of each, and asks.
   * @param {AbortSignal} signal
   */
  async #look(signal) {
    const { warning } = KINDS[this.#attributes.sensitive ? "sensitive" : this.kind];
    const submit = h("button", { class: "button primary", hidden: true });
    const lead = h("p", { class: "lead" }, `${this.#counted(this.parts)}.`);
    const element = form({ isMissed: false, busy: "Working …", onsubmit: (waiting) => this.#make(submit, waiting) },
      lead, warning && h("p", { class: "notice caution" }, icon("warning"), warning), this.#table(),
      h("div", { class: "actions" }, submit, leaveButton(() => this.close?.(), "Close")));
    this.element.replaceChildren(element);
    await inTurns(this.parts, (part) => this.#try(part, true, signal));
    this.#offer(submit);
    submit.focus();
  }

  #table() {
    const rows = this.parts.map((part) =>
      h("tr", {}, h("th", { scope: "row" }, name(part.workspace.name)), part.told));
    return scrolling("By workspace", table("results compared", ["Workspace", "What becomes of it"], rows));
  }

  /** @param {HTMLButtonElement} submit */
  #offer(submit) {
    const ready = this.#those("waiting");
    submit.hidden = !ready.length;
    submit.textContent = `${KINDS[this.kind].verb}: ${this.#counted(ready)}`;
  }

  /**
   * Makes it so where it can be, and says where it is not: that can be tried again.
   * @param {HTMLButtonElement} submit
   * @param {AbortSignal} signal
   */
  async #make(submit, signal) {
    await inTurns(this.#those("waiting"), (part) => this.#try(part, false, signal));
    const told = `${this.#counted(this.#those("done"))} ${KINDS[this.kind].done}.`;
    if (!this.left.length) {
      this.close?.();
      return notify("told", told);
    }
    const again = button("Try again", () => {
      for (const part of this.#those("failed")) part.state = "waiting";
      again.remove();
      submit.hidden = false;
      submit.click();
    });
    submit.hidden = true;
    submit.after(again);
    throw new Error(`${told} ${this.#counted(this.#those("failed"))} failed: each of these workspaces says why.`);
  }

  /**
   * Sends a workspace's, and tells what becomes of it.
   * @param {Part} part
   * @param {boolean} dryRun
   * @param {AbortSignal} signal
   */
  async #try(part, dryRun, signal) {
    const data = part.chosen.map(({ key, category, version }) => ({ type: "vars", attributes: { key, category, ...this.#attributes },
      meta: { "version-id": version, ...(this.kind === "delete" && { delete: true }) } }));
    const document = { data, meta: { versioned: true, "dry-run": dryRun } };
    try {
      /** @type {Answer<Api.ResultsDocument>} */
      const answer = await send("POST", `/workspaces/${part.workspace.id}/actions/apply`, document,
        dryRun ? { repeats: true, signal } : { change: part.change, signal });
      part.told.replaceChildren(...answer.document.meta.results.map((one) => outcome(one, !dryRun)));
      part.state = dryRun ? "waiting" : "done";
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
      part.told.replaceChildren(why(error, part.chosen));
      part.state = "failed";
    }
  }
}

/**
 * By workspace, in the order of these.
 * @param {Chosen[]} chosen
 */
function partsOf(chosen) {
  const ids = new Set(chosen.map(({ workspace }) => workspace.id));
  return [...ids].map((id) => new Part(chosen.filter(({ workspace }) => workspace.id === id)));
}

/**
 * Does it for all, a few at a time.
 * @param {Part[]} parts
 * @param {(part: Part) => Promise<void>} work
 */
async function inTurns(parts, work) {
  const waiting = [...parts];
  const go = async () => {
    for (let part = waiting.shift(); part; part = waiting.shift()) await work(part);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, go));
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
 * @param {Refused | Unreachable} error
 * @param {Chosen[]} chosen
 * @returns {Element}
 */
function why(error, chosen) {
  if (error instanceof Unreachable) return h("p", { class: "error" }, "No answer came. To try again does it only once.");
  if (error.status === 412 && chosen[0].version === null) return h("p", { class: "error" }, "It is there already, and stays as it is.");
  return h("ul", {}, itemErrors(error, (at) => chosen[at]));
}
