/** A file of variables, pasted or dropped: read, looked at as a preview, and applied as it was seen. */

import { Change, Refused, send } from "./api.js";
import { show } from "./dialogs.js";
import { button, count, h, little, name } from "./dom.js";
import { choice, clearErrors, field, form, keepTyped } from "./fields.js";
import { changesOf, itemErrors, resultTable, summaryOf } from "./results.js";
import { editor } from "./value_field.js";

/** More than the API takes, so that it is the API that says so. */
const LARGEST_BYTES = 1024 * 1024;
const FORMATS = [
  { value: "tfvars", label: ".tfvars" },
  { value: "dotenv", label: ".env" },
  { value: "json", label: ".tfvars.json" },
];

/** Opens the dialog with a file that is dropped on the page, or with lines that are pasted there. */
export function watchDrops(element, signal, take) {
  const options = { signal };
  document.addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    element.classList.add("dropping");
  }, options);
  document.addEventListener("dragleave", () => element.classList.remove("dropping"), options);
  document.addEventListener("drop", async (event) => {
    element.classList.remove("dropping");
    const [file] = event.dataTransfer.files;
    if (!file || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    take(await contentsOf(file));
  }, options);
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (event.target.closest?.("input, textarea, dialog") || !text.includes("=")) return;
    event.preventDefault();
    take({ name: "", text });
  }, options);
}

/** `done(text)` is called once it is applied. */
export function importDialog(workspaceId, list, file, done) {
  show("Import variables", (close) => new Import(workspaceId, list, file, close, done).element, { wide: true });
}

class Import {
  #change = new Change();

  constructor(workspaceId, list, file, close, done) {
    Object.assign(this, { path: `/workspaces/${workspaceId}/actions`, list, close, done });
    this.text = editor({ rows: 8, autofocus: true });
    this.format = choice({ legend: "Format", options: FORMATS, chosen: formatOf(file?.name ?? "", file?.text ?? ""),
      onchange: () => clearErrors(this.reading) });
    this.reading = this.#readingForm();
    this.preview = h("div", { hidden: true });
    this.element = h("div", {}, this.reading, this.preview);
    this.text.input.addEventListener("paste", () => setTimeout(() => this.#guess("")));
    if (file) this.#take(file);
  }

  #readingForm() {
    const chosen = h("input", { type: "file", class: "unseen", "aria-label": "Choose a file",
      onchange: async () => {
        const [file] = chosen.files;
        if (file) this.#take(await contentsOf(file));
      } });
    return form({ onsubmit: () => this.#read() },
      field({ label: "Contents of the file", control: this.text.element, pointer: "/data/attributes/content",
        hint: "Paste it here, or drop the file anywhere on the page. Nothing changes before you have seen a preview." }),
      this.format.element,
      h("div", { class: "actions" },
        h("button", { class: "button primary" }, "Preview"),
        h("label", { class: "button" }, chosen, "Choose a file …"),
        button("Cancel", () => this.#leave())));
  }

  #take({ name: fileName, text }) {
    this.text.input.value = text;
    this.text.fit();
    keepTyped(this.reading, true);
    this.#guess(fileName);
  }

  #guess(fileName) {
    const format = formatOf(fileName, this.text.input.value);
    this.format.element.querySelector(`[value="${format}"]`).checked = true;
  }

  #leave() {
    this.text.input.value = "";
    this.close();
  }

  async #read() {
    const attributes = { format: this.format.chosen(), content: this.text.input.value };
    const data = { type: "parsed-files", attributes };
    const { document } = await send("POST", `${this.path}/parse`, { data }, { repeats: true });
    const { items, faults } = document.data.attributes;
    if (faults.length) return this.#showFaults(faults);
    if (!items.length) throw new Error("There is no variable in it.");
    this.items = items;
    await this.#look();
  }

  #showFaults(faults) {
    const lines = faults.map((one) =>
      h("li", { class: "error" }, `Line ${one.line}, column ${one.column}: ${one.detail}`));
    this.reading.querySelector(".errors").replaceChildren(
      h("p", {}, `Nothing is imported: ${count(faults.length, "fault")}.`), h("ul", {}, lines));
    this.text.mark(faults[0].line);
    this.text.input.focus();
  }

  #document(dryRun) {
    return { data: this.items.map((attributes) => ({ type: "vars", attributes })), meta: { "dry-run": dryRun } };
  }

  /** Asks what would become of it, and shows that. */
  async #look(note = "") {
    let answer;
    try {
      answer = await send("POST", `${this.path}/apply`, this.#document(true), { repeats: true });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const place = this.reading.querySelector(".errors");
      place.replaceChildren(h("ul", {}, itemErrors(error, (at) => this.items[at])));
      return;
    }
    this.etag = answer.etag;
    this.reading.hidden = true;
    this.preview.hidden = false;
    this.preview.replaceChildren(this.#applyForm(answer.document.meta.results, note));
    this.preview.querySelector("button")?.focus();
  }

  #applyForm(results, note) {
    const items = new Map(this.items.map((one) => [nameOf(one), one]));
    const many = changesOf(results);
    return form({ onsubmit: () => this.#apply(results) },
      note && h("p", { class: "notice", role: "alert" }, note),
      h("p", { class: "lead" }, many ? `${summaryOf(results)}.` : "Everything in the file is already there, unchanged."),
      resultTable(results, "Value", (one) => this.#value(one, items.get(nameOf(one)))),
      h("div", { class: "actions" },
        many > 0 && h("button", { class: "button primary" }, `Apply ${count(many, "change")}`),
        button("Back", () => {
          this.preview.hidden = true;
          this.reading.hidden = false;
          this.text.input.focus();
        }),
        button(many ? "Cancel" : "Close", () => this.#leave())));
  }

  /** What it will be; what is new can still be made sensitive here. */
  #value(result, item) {
    const before = this.list.all.find((one) => one.id === result.id);
    if (before?.sensitive) return little(before);
    const value = h("span", {}, little(item));
    if (result.outcome !== "created") {
      const isOther = before && before.value !== item.value;
      return [isOther && h("span", { class: "before" }, little(before)), value];
    }
    const box = h("input", { type: "checkbox", checked: item.sensitive === true, onchange: () => {
      item.sensitive = box.checked;
      value.replaceChildren(...[little(item)].flat().filter(Boolean));
    } });
    return [value, h("label", { class: "small" }, box, "Sensitive", h("span", { class: "unseen" }, ": ", name(item.key)))];
  }

  async #apply(results) {
    const options = { change: this.#change, ifMatch: this.etag };
    try {
      await send("POST", `${this.path}/apply`, this.#document(false), options);
    } catch (error) {
      if (!(error instanceof Refused && error.status === 412)) throw error;
      return this.#look("Somebody has changed variables here meanwhile. This is what would happen now.");
    }
    this.items = [];
    this.#leave();
    this.done(`${summaryOf(results)}.`);
  }
}

/** Its name and text. Of one that is too long for any server only the beginning, which is refused. */
async function contentsOf(file) {
  return { name: file.name, text: await file.slice(0, LARGEST_BYTES + 1).text() };
}

function nameOf({ key, category }) {
  return `${category} ${key}`;
}

/** By its name, else by what it looks like. */
function formatOf(fileName, text) {
  if (/\.json$/i.test(fileName)) return "json";
  if (/\.tfvars$/i.test(fileName)) return "tfvars";
  if (/(^|[./])env\b/i.test(fileName)) return "dotenv";
  if (/^\s*\{/.test(text)) return "json";
  const lines = text.split("\n").filter((one) => one.trim() && !one.startsWith("#"));
  const isShell = (one) => /^(export\s+)?[A-Za-z_][A-Za-z0-9_.]*=/.test(one);
  return lines.length && lines.every(isShell) ? "dotenv" : "tfvars";
}
