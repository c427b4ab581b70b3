/** Takes variables out again: what one chooses, as a file to be copied or downloaded, or one value alone. */

import { show } from "./dialogs.js";
import { button, count, h, little, name, pictureButton, shown } from "./dom.js";
import { choice, leaveButton, takeBox } from "./fields.js";
import { longTable } from "./results.js";
import { write } from "./writing.js";

/** @import { Variable } from "./variable_list.js" */
/** @import { Form } from "./writing.js" */

/** @type {{value: Form, label: string, ending: string}[]} */
const FORMS = [
  { value: "dotenv", label: ".env", ending: ".env" },
  { value: "tfvars", label: ".tfvars", ending: ".tfvars" },
  { value: "json", label: "JSON", ending: ".tfvars.json" },
];

/**
 * Of these variables of what is `called` so.
 * @param {string} called
 * @param {Variable[]} variables
 */
export function exportDialog(called, variables) {
  show("Export variables", (close) => new Export(called, variables, close).element, { wide: true });
}

class Export {
  /** What is exported; what is to be copied by hand may stand in its place. */
  file = "";

  /**
   * @param {string} called
   * @param {Variable[]} variables
   * @param {() => void} close
   */
  constructor(called, variables, close) {
    this.called = called;
    this.variables = variables;
    const isOfTool = variables.some(({ category }) => category !== "env");
    this.form = choice({ legend: "Format", options: FORMS, chosen: isOfTool ? "tfvars" : "dotenv", onchange: () => this.#draw() });
    this.text = h("textarea", { readonly: true, rows: 8, spellcheck: "false", "aria-label": "The file" });
    this.told = h("p", { class: "hint", role: "status" });
    this.left = h("ul", {});
    this.takes = variables.map(({ key }) => takeBox(`Export ${key}`, { checked: true, onchange: () => this.#draw() }));
    this.element = h("div", {}, this.form.element, this.#table(), this.told, this.left, this.text,
      h("div", { class: "actions" },
        button("Copy", () => this.#copy(this.file, "The file"), { kind: "primary", picture: "copy" }),
        button("Download", () => this.#download(), { picture: "file" }), leaveButton(close, "Close")));
    this.#draw();
  }

  #table() {
    const all = takeBox("All of them", { checked: true, onchange: ({ target }) => {
      for (const { box } of this.takes) box.checked = target.checked;
      this.#draw();
    } });
    const headings = [[all.element, "Key"], "Value", h("span", { class: "unseen" }, "Actions")];
    const rows = this.variables.map((one, at) => ({ one, take: this.takes[at].element }));
    return longTable("results compared", headings, rows, ({ one, take }) => h("tr", {},
      h("th", { scope: "row" }, take, name(one.key), h("span", { class: "description" }, one.category)),
      h("td", {}, little(one)),
      h("td", {}, !one.sensitive && pictureButton("copy", `Copy the value of ${one.key}`,
        () => this.#copy(one.value ?? "", `The value of ${one.key}`)))), "What is exported");
  }

  #draw() {
    const chosen = this.variables.filter((_, at) => this.takes[at].box.checked);
    const { text, unwritten } = write(this.form.chosen(), chosen);
    const secret = chosen.filter(({ sensitive }) => sensitive).length;
    this.file = this.text.value = text;
    this.told.textContent = [
      `${count(chosen.length - unwritten.length - secret, "variable")} in the file.`,
      secret && `${count(secret, "sensitive variable")} ${secret === 1 ? "is" : "are"} only named, in a comment.`,
      unwritten.length && "Such a file cannot have:",
    ].filter(Boolean).join(" ");
    this.left.replaceChildren(...unwritten.map(({ key, detail }) =>
      h("li", { class: "error" }, h("strong", {}, name(key)), ": ", shown(detail))));
  }

  /**
   * Puts a text where one pastes from. Where the browser keeps that to itself, the file is selected.
   * @param {string} text
   * @param {string} what
   */
  async #copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      this.told.textContent = `${what} is copied.`;
    } catch {
      this.text.value = text;
      this.text.focus();
      this.text.select();
      this.told.textContent = `${what} is selected: copy it with your keyboard.`;
    }
  }

  #download() {
    const ending = FORMS.find(({ value }) => value === this.form.chosen())?.ending ?? "";
    const href = URL.createObjectURL(new Blob([this.file], { type: "text/plain" }));
    h("a", { href, download: `${this.called}${ending}` }).click();
    URL.revokeObjectURL(href);
  }
}
