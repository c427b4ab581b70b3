/** A file of variables, pasted or dropped: read, looked at as a preview, and applied as it was seen. */

import { Change, Refused, send } from "./api.js";
import { headed, show } from "./dialogs.js";
import { button, count, h, little, name, nodes } from "./dom.js";
import { contentsOf } from "./drops.js";
import { choice, clearErrors, errorsOf, field, form, isOvertaken, keepTyped, leaveButton, takeBox, tick } from "./fields.js";
import { settleAll } from "./hands.js";
import { changesOf, effectsText, itemErrors, nameOf, resultTable, summaryOf } from "./results.js";
import { saysSecret } from "./secrecy.js";
import { editor } from "./value_field.js";

/** @import { Answer } from "./api.js" */
/** @import { Child } from "./dom.js" */
/** @import { DroppedFile } from "./drops.js" */
/** @import { VariableList } from "./variable_list.js" */
/** @typedef {Api.FileItem & {sensitive?: boolean}} Item */
/** @typedef {Api.VariableResult} Result */
/** @typedef {{result: Result, item: Item}} Pair */

/** @type {{value: Api.FileAttributes["format"], label: string}[]} */
const FORMATS = [
  { value: "tfvars", label: ".tfvars" },
  { value: "dotenv", label: ".env" },
  { value: "json", label: ".tfvars.json" },
];

/**
 * Into what is at that path; `refresh` reads its list anew, and `done(text)` is called once the file is applied.
 * @param {string} path
 * @param {VariableList} list
 * @param {DroppedFile | null} file
 * @param {() => Promise<void>} refresh
 * @param {(text: string) => unknown} done
 */
export function importDialog(path, list, file, refresh, done) {
  show("Import variables", (close) => new Import(path, list, file, refresh, close, done).element, { wide: true });
}

class Import {
  #change = new Change();
  /**
   * What somebody has said of a key, whatever is done to the file afterwards.
   * @type {Map<string, boolean>}
   */
  #secrecy = new Map();
  /** @type {Set<string>} */
  #suggested = new Set();
  /** @type {Set<string>} */
  #left = new Set();
  /** Whether somebody has said what format it is, which no paste says better. */
  #isChosen = false;
  /** @type {Item[]} */
  items = [];
  /** @type {string | null} */
  etag = null;

  /**
   * @param {string} path
   * @param {VariableList} list
   * @param {DroppedFile | null} file
   * @param {() => Promise<void>} refresh
   * @param {() => void} close
   * @param {(text: string) => unknown} done
   */
  constructor(path, list, file, refresh, close, done) {
    this.path = `${path}/actions`;
    this.list = list;
    this.refresh = refresh;
    this.close = close;
    this.done = done;
    this.text = editor({ rows: 8, autofocus: true });
    this.format = choice({ legend: "Format", options: FORMATS, chosen: formatOf(file?.name ?? "", file?.text ?? ""),
      onchange: () => {
        this.#isChosen = true;
        clearErrors(this.reading);
      } });
    this.reading = this.#readingForm();
    this.preview = h("div", { hidden: true });
    this.element = h("div", {}, this.reading, this.preview);
    this.text.input.addEventListener("paste", () => this.#isChosen || setTimeout(() => this.#guess("")));
    if (file) this.#take(file);
  }

  /** @returns {HTMLFormElement} */
  #readingForm() {
    const chosen = h("input", { type: "file", class: "unseen", "aria-label": "Choose a file",
      onchange: async ({ target }) => {
        const [file] = target.files ?? [];
        target.value = ""; // the same may be chosen again, once it says something else
        if (file) this.#take(await contentsOf(file));
      } });
    return form({ onsubmit: (signal) => this.#read(signal), saves: false, busy: "Reading …" },
      field({ label: "Contents of the file", control: this.text.element, pointer: "/data/attributes/content",
        hint: "Paste it here, or drop the file anywhere on the page. Nothing changes before you have seen a preview." }),
      this.format.element,
      h("div", { class: "actions" },
        h("button", { class: "button primary" }, "Preview"),
        h("label", { class: "button" }, chosen, "Choose a file …"),
        leaveButton(() => this.leave())));
  }

  /** @param {DroppedFile} file */
  #take({ name: fileName, text }) {
    this.text.input.value = text;
    this.text.fit();
    keepTyped(this.reading, true);
    this.#guess(fileName);
  }

  /** @param {string} fileName */
  #guess(fileName) {
    this.format.of(formatOf(fileName, this.text.input.value)).checked = true;
  }

  leave() {
    this.text.input.value = "";
    this.close();
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    const attributes = { format: this.format.chosen(), content: this.text.input.value };
    const data = { type: "parsed-files", attributes };
    /** @type {Answer<Api.ParsedFileDocument>} */
    const { document } = await send("POST", `${this.path}/parse`, { data }, { repeats: true, signal });
    const { items, faults } = document.data.attributes;
    if (faults.length) return this.#showFaults(faults);
    if (!items.length) throw new Error("There is no variable in it.");
    this.items = items;
    await this.#look("", signal);
  }

  /** @param {Api.FileFault[]} faults */
  #showFaults(faults) {
    const lines = faults.map((one) =>
      h("li", { class: "error" }, `Line ${one.line}, column ${one.column}: ${one.detail}`));
    errorsOf(this.reading).replaceChildren(
      h("p", {}, `Nothing is imported: ${count(faults.length, "fault")}.`), h("ul", {}, lines));
    this.text.mark(faults[0].line);
    this.text.input.focus();
  }

  /**
   * @param {Item[]} items
   * @param {boolean} dryRun
   */
  #document(items, dryRun) {
    const attributesOf = (/** @type {Item} */ { sensitive, ...rest }) => ({ ...rest, ...(sensitive && { sensitive }) });
    const data = items.map((one) => ({ type: "vars", attributes: attributesOf({ ...one, sensitive: this.isSensitive(one) }) }));
    return { data, meta: { "dry-run": dryRun } };
  }

  /**
   * Asks what would become of it, and shows that.
   * @param {string} note
   * @param {AbortSignal} signal
   */
  async #look(note, signal) {
    this.#suggested.clear(); // what was new may be there by now, and nothing that is there is changed by a suggestion
    /** @type {Answer<Api.ResultsDocument>} */
    let answer;
    try {
      answer = await send("POST", `${this.path}/apply`, this.#document(this.items, true), { repeats: true, signal });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.back();
      errorsOf(this.reading).replaceChildren(h("ul", {}, itemErrors(error, (at) => this.items[at])));
      return;
    }
    this.etag = answer.etag;
    await this.refresh(); // what is replaced is shown as it is now
    const { results, effects } = answer.document.meta;
    const more = effects ? await effectsText(effects) : null;
    for (const one of results) {
      if (one.outcome === "created" && saysSecret(one.key)) this.#suggested.add(nameOf(one));
    }
    this.reading.hidden = true;
    this.preview.hidden = false;
    this.preview.replaceChildren(new Preview(this, results, note, more).element);
    headed(this.preview);
  }

  /**
   * What somebody has said; else what the file says, or the key suggests.
   * @param {Item} item
   */
  isSensitive(item) {
    const called = nameOf(item);
    return this.#secrecy.get(called) ?? (item.sensitive === true || this.#suggested.has(called));
  }

  /**
   * Notes what somebody says, for as long as the dialog is open.
   * @param {Item} item
   * @param {boolean} is
   */
  say(item, is) {
    this.#secrecy.set(nameOf(item), is);
  }

  /** @param {Item} item */
  isLeft(item) {
    return this.#left.has(nameOf(item));
  }

  /**
   * @param {Item} item
   * @param {boolean} is
   */
  leaveOut(item, is) {
    if (is) this.#left.add(nameOf(item));
    else this.#left.delete(nameOf(item));
  }

  back() {
    this.preview.hidden = true;
    this.reading.hidden = false;
    settleAll();
    this.text.input.focus();
  }

  /**
   * Applies what is not left out, as it was seen.
   * @param {Result[]} results
   * @param {AbortSignal} signal
   */
  async apply(results, signal) {
    const taken = this.items.filter((one) => !this.isLeft(one));
    const options = { change: this.#change, ifMatch: this.etag, signal };
    try {
      await send("POST", `${this.path}/apply`, this.#document(taken, false), options);
    } catch (error) {
      if (!isOvertaken(error, this.element)) throw error;
      return this.#look("Somebody has changed variables here meanwhile. This is what would happen now.", signal);
    }
    this.items = [];
    this.leave();
    this.done(`Imported: ${summaryOf(results)}.`);
  }
}

/** What would become of a file, with a choice for each variable: whether it is imported, and is sensitive. */
class Preview {
  /**
   * @param {Import} file
   * @param {Result[]} results
   * @param {string} note
   * @param {Child} more
   */
  constructor(file, results, note, more) {
    this.file = file;
    this.results = results;
    const items = new Map(file.items.map((one) => [nameOf(one), one]));
    const itemOf = (/** @type {Result} */ result) => /** @type {Item} */ (items.get(nameOf(result)));
    /** @type {Pair[]} */
    this.pairs = results.map((result) => ({ result, item: itemOf(result) }));
    this.isNew = (/** @type {Pair} */ { result }) => result.outcome === "created";
    this.lead = h("p", { class: "lead" });
    this.submit = h("button", { class: "button primary" });
    /** @type {(() => void)[]} */
    this.boxes = [];
    this.all = this.#allBox();
    this.element = form({ onsubmit: (signal) => file.apply(this.#taken(), signal), busy: "Importing …" },
      note && h("p", { class: "notice", role: "alert" }, note), this.lead,
      this.all.element, more,
      resultTable(results, "Value", (one) => this.#value(one, itemOf(one)), (one) => this.#take(itemOf(one))),
      h("div", { class: "actions" }, this.submit,
        button("Back", () => file.back()), leaveButton(() => file.leave(), changesOf(results) ? "Cancel" : "Close")));
    this.#tell();
  }

  #taken() {
    return this.pairs.filter(({ item }) => !this.file.isLeft(item)).map(({ result }) => result);
  }

  #tell() {
    const taken = this.#taken();
    const many = changesOf(taken);
    this.lead.textContent = many ? `${summaryOf(taken)}.`
      : taken.length ? "Everything in the file is already there, unchanged." : "Nothing of it is taken.";
    this.submit.textContent = `Apply ${count(many, "change")}`;
    this.submit.hidden = !many;
    const fresh = this.pairs.filter(this.isNew);
    this.all.element.hidden = fresh.length < 2;
    this.all.box.checked = fresh.every(({ item }) => this.file.isSensitive(item));
  }

  #allBox() {
    return tick({ label: "All new ones are sensitive", checked: false, onchange: ({ target }) => {
      for (const { item } of this.pairs.filter(this.isNew)) this.file.say(item, target.checked);
      for (const show of this.boxes) show();
      this.#tell();
    } });
  }

  /** @param {Item} item */
  #take(item) {
    return takeBox(`Import ${item.key}`, { checked: !this.file.isLeft(item), onchange: ({ target }) => {
      this.file.leaveOut(item, !target.checked);
      this.#tell();
    } }).element;
  }

  /**
   * What it will be; what is new can still be made sensitive here.
   * @param {Result} result
   * @param {Item} item
   * @returns {Child}
   */
  #value(result, item) {
    const before = this.file.list.get(result.id ?? "");
    if (before?.sensitive) return little(before);
    const value = h("span", {});
    const show = () => value.replaceChildren(...nodes(little({ ...item, sensitive: this.file.isSensitive(item) }, before?.value)));
    show();
    if (result.outcome !== "created") {
      const isOther = before && before.value !== item.value;
      return [isOther && h("span", { class: "before" }, little(before, item.value)), value];
    }
    const box = h("input", { type: "checkbox", onchange: ({ target }) => {
      this.file.say(item, target.checked);
      show();
      this.#tell();
    }, checked: this.file.isSensitive(item) });
    this.boxes.push(() => {
      box.checked = this.file.isSensitive(item);
      show();
    });
    return [value, h("label", { class: "small" }, box, "Sensitive", h("span", { class: "unseen" }, ": ", name(item.key)))];
  }
}

/**
 * By its name, else by what it looks like.
 * @param {string} fileName
 * @param {string} text
 * @returns {Api.FileAttributes["format"]}
 */
function formatOf(fileName, text) {
  if (/\.json$/i.test(fileName)) return "json";
  if (/\.tfvars$/i.test(fileName)) return "tfvars";
  if (/(^|[./])env\b/i.test(fileName)) return "dotenv";
  if (/^\s*\{/.test(text)) return "json";
  const isQuoted = /=(["'])[^]*?\1/g; // by lines, as no string of the other format goes on
  const lines = text.replace(isQuoted, "=").split("\n").map((one) => one.trim()).filter((one) => one && !one.startsWith("#"));
  const isShell = (/** @type {string} */ one) => /^(export\s+)?[A-Za-z_][A-Za-z0-9_.]*=/.test(one);
  return lines.length && lines.every(isShell) ? "dotenv" : "tfvars";
}
