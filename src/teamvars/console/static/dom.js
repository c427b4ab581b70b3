/** Building the document: of elements and text, never of markup in a string. */

/** So many characters of a value are worth their place where there is room for a line. */
const LITTLE = 200;
/** So many of them lead to where two values differ. */
const LEAD = 20;
/** Whoever has waited so long for what a button does is shown that it goes on. */
const SOON_MS = 200;
const SVG = "http://www.w3.org/2000/svg";
/** What joins letters of India's scripts, or with a joiner does not. */
const VIRAMA = "\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d3b\\u0d3c\\u0d4d\\u0dca\\u0f84\\u1039\\u103a\\u17d2";
const ARABIC = "\\p{sc=Arab}\\p{sc=Syrc}\\p{sc=Thaa}";
/** What is seen by what becomes of the characters around it: joiners of words and of emoji, and how these are drawn. */
const JOINS = [
  `[\\u200c\\u200d](?:(?<=[${VIRAMA}].)|(?<=[${ARABIC}\\p{Mn}].)(?=\\p{L})(?=[${ARABIC}]))`,
  "\\u200d(?<=\\p{ExtPict}[\\ufe0f\\p{EMod}]?.)(?=\\p{ExtPict})",
  "\\ufe0f(?:(?<=\\p{ExtPict}.)|(?=\\u20e3))",
].join("|");
/** What is not seen, or turns the direction of what stands around it. */
const HIDDEN = new RegExp(`(?!${JOINS}|[\\n\\t])[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{DI}\\u2028\\u2029]`, "gu");

/**
 * What stands in an element; what is false, null, undefined or empty leaves nothing.
 * @typedef {Node | string | false | null | undefined | readonly Child[]} Child
 */

/**
 * The attributes of an element, and what listens to it.
 * @typedef {{
 *   onclick?: (event: PointerEvent & { target: HTMLElement }) => unknown,
 *   onchange?: (event: Event & { target: HTMLInputElement }) => unknown,
 *   oninput?: () => unknown,
 *   onfocus?: () => unknown,
 *   [attribute: string]: unknown,
 * }} Attributes
 */

/** @typedef {keyof typeof ICONS} Picture */

/**
 * An element. `on…` are listeners, `true` is an attribute without a value, and what is false, null
 * or undefined is left out, among the children too.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "value" || name === "checked") Reflect.set(element, name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * What is there of these, as a list of the document's nodes and texts.
 * @param {Child} child
 * @returns {(Node | string)[]}
 */
export function nodes(child) {
  if (typeof child === "string" || child instanceof Node) return [child];
  return child ? child.flatMap(nodes) : [];
}

/**
 * A part of the page that the shell has.
 * @param {string} id
 */
export function part(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/**
 * The elements in another one that a selector finds, in their order.
 * @param {Element} parent
 * @param {string} selector
 * @returns {HTMLElement[]}
 */
export function within(parent, selector) {
  return [.../** @type {NodeListOf<HTMLElement>} */ (parent.querySelectorAll(selector))];
}

/**
 * Text of somebody's, in which what hides or turns other text is spelled out.
 * @param {string} text
 * @returns {Child[]}
 */
export function shown(text) {
  if (text.search(HIDDEN) < 0) return [text];
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, found.index), h("span", { class: "escaped" }, escaped(found[0])));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

/**
 * The same where there is room for text alone.
 * @param {string} text
 */
export function spelled(text) {
  return text.replace(HIDDEN, escaped);
}

/**
 * The beginning of a text, in which nothing that is seen as one is cut in two.
 * @param {string} text
 * @param {number} most characters
 */
export function beginning(text, most) {
  return text.length > most ? text.slice(0, most).replace(/\u200d?\p{Cs}?$/u, "") : text;
}

/**
 * A character as JSON would have it.
 * @param {string} character
 */
function escaped(character) {
  const units = character.split("").map((one) => one.charCodeAt(0).toString(16).padStart(4, "0"));
  return units.map((one) => `\\u${one}`).join("");
}

/**
 * What somebody has named or written, which turns nothing around it. Whichever letter it begins with, it is read as in the field
 * that it was typed in, from left to right: what ends a line of code is at its end.
 * @param {string} text
 */
export function name(text) {
  return h("bdi", { dir: "ltr" }, shown(text));
}

/**
 * A small picture; what it stands for is said by the text beside it or the button's label.
 * @param {Picture} kind
 */
export function icon(kind) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[kind]);
  svg.append(path);
  return svg;
}

/**
 * A button with text, and a picture if it has one.
 * @param {Child} text
 * @param {Attributes["onclick"]} onclick
 * @param {Attributes & { kind?: string, picture?: Picture }} [attributes]
 */
export function button(text, onclick, { kind = "", picture, ...attributes } = {}) {
  return h(
    "button",
    { type: "button", class: `button ${kind}`.trim(), onclick: showing(onclick), ...attributes },
    picture && icon(picture),
    text,
  );
}

/**
 * The button of a page that adds or makes one: what the key `n` presses.
 * @param {string} text
 * @param {Attributes["onclick"]} onclick
 */
export function addButton(text, onclick) {
  return button(text, onclick, { kind: "primary", picture: "add", "data-adds": true });
}

/**
 * A button that is only a picture, and is called `label`.
 * @param {Picture} picture
 * @param {string} label
 * @param {Attributes["onclick"]} onclick
 * @param {Attributes} [attributes]
 */
export function pictureButton(picture, label, onclick, attributes = {}) {
  const named = { type: "button", class: "button bare", "aria-label": label, title: spelled(label) };
  return h("button", { ...named, onclick: showing(onclick), ...attributes }, icon(picture));
}

/**
 * What a button does, with the button showing it as long as it waits.
 * @param {Attributes["onclick"]} act
 * @returns {Attributes["onclick"]}
 */
function showing(act) {
  return async (event) => {
    const pressed = /** @type {Element} */ (event.currentTarget);
    const timer = setTimeout(() => pressed.setAttribute("aria-busy", "true"), SOON_MS);
    try {
      await act?.(event);
    } finally {
      clearTimeout(timer);
      pressed.removeAttribute("aria-busy");
    }
  };
}

/**
 * A button that copies a text, where pages may; `shown` has that text, and is selected where the browser does not copy.
 * @param {string} text
 * @param {HTMLElement} shown
 * @param {Attributes} [attributes]
 */
export function copyButton(text, shown, attributes = {}) {
  return navigator.clipboard && button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text);
      announce("Copied.");
    } catch {
      if (shown.matches("input")) /** @type {HTMLInputElement} */ (shown).select();
      else getSelection()?.selectAllChildren(shown);
      announce("It is selected: copy it with your keyboard.");
    }
  }, { picture: "copy", ...attributes });
}

/**
 * What may be longer than the dialog that it is in; `label` says what it is.
 * @param {string} label
 * @param {Child} content
 */
export function scrolling(label, content) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
}

/**
 * Says something to whoever cannot see that it has happened.
 * @param {Child} text
 */
export function announce(text) {
  const place = part("announcements");
  place.replaceChildren();
  // After a moment, so that the same words are said again.
  setTimeout(() => place.replaceChildren(...nodes(text)), 50);
}

/**
 * A value in the room of a line, as the list, previews and comparisons have it; what nobody sees of it is said. Beside an `other`
 * one it is seen where the two differ.
 * @param {{value: string | null, sensitive: boolean}} variable
 * @param {string | null} [other]
 * @returns {Child}
 */
export function little({ value, sensitive }, other = null) {
  if (sensitive || value === null) return h("span", { class: "write-only" }, icon("lock"), "write-only");
  if (value === "") return h("span", { class: "hint" }, "empty");
  const beside = other ?? value;
  const from = beside === value ? 0 : differAt(value, beside);
  const piece = pieceOf(value, from);
  const lines = value.split("\n").length;
  const told = [...(lines > 1 ? [`${lines.toLocaleString("en")} lines`] : []), ...edgesOf(value),
    ...(beside !== value && pieceOf(beside, from) === piece ? ["differs in blanks or line ends"] : [])];
  return [h("code", {}, name(piece)), told.map((one) => h("span", { class: "badge" }, one))];
}

/**
 * From where on two values are shown, so that one sees them differ.
 * @param {string} value
 * @param {string} other
 */
function differAt(value, other) {
  let at = 0;
  while (at < value.length && value[at] === other[at]) at += 1;
  return at < LITTLE - LEAD ? 0 : at - LEAD;
}

/**
 * @param {string} value
 * @param {number} from
 */
function pieceOf(value, from) {
  const rest = value.slice(from).replace(/^\p{Cs}/u, "");
  const piece = beginning(rest, LITTLE).replace(/\s*\n\s*|[ \t]+/g, " ");
  return `${from ? "…" : ""}${piece}${rest.length > LITTLE ? "…" : ""}`;
}

/**
 * What nobody sees at the ends of a value, in words.
 * @param {string} value
 */
export function edgesOf(value) {
  /** @type {[string, string | undefined][]} */
  const ends = [["starts", value.match(/^\s/)?.[0]], ["ends", value.match(/\s$/)?.[0]]];
  return ends.flatMap(([word, one]) => (one ? [`${word} with a ${/[\r\n]/.test(one) ? "line end" : "blank"}`] : []));
}

/**
 * "1 variable", "5,000 variables".
 * @param {number} number
 * @param {string} noun
 */
export function count(number, noun) {
  const many = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`;
  return `${number.toLocaleString("en")} ${number === 1 ? noun : many}`;
}

/**
 * "a, b, c", of parts that are text or elements.
 * @param {Child[]} parts
 * @returns {Child[]}
 */
export function listed(parts) {
  return parts.map((one, at) => [at > 0 && ", ", one]);
}

/**
 * A time, where one is. It says itself when it is: nobody has to point at it, and it does not go out of date while one looks.
 * @param {string} iso
 */
export function time(iso) {
  const at = new Date(iso);
  return h("time", { datetime: iso, title: at.toLocaleString("en-GB", { dateStyle: "full", timeStyle: "long" }) },
    at.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }));
}

/**
 * When a day begins where one is, of a text such as 2026-12-31; the text itself where there is no such day.
 * @param {string} text
 */
export function beginOf(text) {
  const begin = new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : NaN);
  return Number.isNaN(begin.getTime()) ? text : begin.toISOString();
}

const ICONS = {
  add: "M8 3v10M3 8h10",
  copy: "M6 6h7v7H6zM3 10V3h7",
  edit: "M3 13l.8-3L11 2.8l2.2 2.2L6 12.2zM9.5 4.3l2.2 2.2",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  lock: "M4 7h8v6H4zM5.5 7V5a2.5 2.5 0 0 1 5 0v2",
  out: "M7 3H3v10h4M6 8h7M10.5 5l3 3-3 3",
  remove: "M3 4.5h10M6 4V2.5h4V4M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14",
  token: "M10 9.5a3.5 3.5 0 1 0-3.2-2L2 12.3V14h2.5v-2h2l1.3-1.3",
  view: "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z",
  warning: "M8 2.5L14.5 13.5h-13zM8 6.5v3.5M8 11.5v.6",
};
