/** The field of a value: monospaced, of many lines, with their numbers, and checked where it is code. */

import { beginning, h, shown } from "./dom.js";
import { field } from "./fields.js";
import { ValueCheck } from "./value_check.js";

/** @import { Attributes } from "./dom.js" */

const FEWEST_ROWS = 2;
const MOST_ROWS = 16;
/** Longer texts have no numbers: they would take longer to lay out than anybody would read them. */
const NUMBERED_LINES = 2000;
const PREVIEWED_CHARACTERS = 4000;

/**
 * A text of many lines, with their numbers; `mark(line)` points at one, and `mark(0)` at none.
 * @param {Attributes} [attributes]
 */
export function editor(attributes = {}) {
  const numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  const input = h("textarea", { wrap: "off", spellcheck: "false", autocapitalize: "none",
    autocomplete: "off", rows: FEWEST_ROWS, ...attributes });
  const element = h("div", { class: "editor" }, numbers, input);
  const fit = () => {
    const lines = input.value.split("\n").length;
    input.rows = Math.min(Math.max(lines, FEWEST_ROWS), MOST_ROWS);
    const many = lines > NUMBERED_LINES ? 0 : lines;
    numbers.textContent = Array.from({ length: many }, (_, at) => at + 1).join("\n");
  };
  const mark = (/** @type {number} */ line) => {
    element.classList.toggle("marked", line > 0);
    element.style.setProperty("--line", String(line - 1));
  };
  input.addEventListener("input", () => {
    mark(0);
    fit();
  });
  input.addEventListener("scroll", () => {
    numbers.scrollTop = input.scrollTop;
  });
  fit();
  return { element, input, mark, fit };
}

/**
 * The field; `check(true)` has it tried as code from now on, `check(false)` no more, and `hush` takes back what was told
 * of it, where somebody else tells the same. `tries` is the path that tries it.
 * @param {string} tries
 * @param {{value: string, label: string}} said
 */
export function valueField(tries, { value, label }) {
  const { element, input, mark } = editor({ value });
  const preview = h("div", { class: "preview", "aria-live": "polite" });
  const tried = new ValueCheck(tries, (result, error) => {
    mark(result?.error?.line ?? 0);
    preview.replaceChildren(...(result ? verdict(result) : []));
    if (error) preview.append(h("p", { class: "hint" }, error.message));
  });
  let isCode = false;
  const check = (/** @type {boolean} */ is) => {
    isCode = is;
    preview.classList.toggle("tried", is);
    if (is && input.value) tried.later(input.value);
    else tried.stop();
  };
  input.addEventListener("input", () => check(isCode));
  const whole = h("div", {},
    field({ label, control: element, pointer: "/data/attributes/value" }), preview);
  return { element: whole, input, check, hush: () => tried.stop() };
}

/** @param {Api.ValueCheckAnswer} answer */
function verdict({ valid, evaluated, value, error, "refers-to": names, calls }) {
  if (!valid) return [h("p", { class: "error" }, culprit(error))];
  if (evaluated) {
    const text = beginning(JSON.stringify(value, null, 2), PREVIEWED_CHARACTERS);
    return [h("p", { class: "hint" }, "Evaluates to"), h("pre", { class: "evaluated", tabindex: 0 }, shown(text))];
  }
  if (names.length || calls.length) {
    const named = [...names, ...calls.map((one) => `${one}()`)].join(", ");
    return [h("p", { class: "hint" }, "It parses. Its value is known only where it runs, since it uses ", shown(named), ".")];
  }
  return [h("p", { class: "error" }, culprit(error))];
}

/** @param {Api.Culprit | null} error */
function culprit(error) {
  return error ? [`Line ${error.line}, column ${error.column}: `, shown(error.detail)] : "It cannot be evaluated.";
}
