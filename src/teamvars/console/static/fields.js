/** Fields of forms: a label, a hint and a control, and the API's errors where they belong. */

import { Refused, Unreachable } from "./api.js";
import { announce, button, h, icon, shown, spelled, within } from "./dom.js";
import { isLeft, lead, settleAll, stay } from "./hands.js";
import { inWords, notify } from "./notices.js";

/** @import { Attributes, Child } from "./dom.js" */

const STILL_MS = 10_000;
const CANCELLED = "You did not wait for the answer. It may have been done all the same: look at the page, or send the same "
  + "once more, which does it only once.";
const UNANSWERED = "No answer came to what you sent before you went on. It may have been done all the same: look whether it was.";
const ELSEWHERE = "Nothing was sent, since you went on elsewhere before it could be asked whether you want this. Send it once more.";

let made = 0;

/**
 * @param {{label: string, control: HTMLElement, pointer?: string, hint?: Child}} said `pointer`
 *   is the member of the document that the field becomes
 */
export function field({ label, control, pointer, hint }) {
  const id = newId();
  const input = /** @type {HTMLElement} */ (control.matches("input, textarea") ? control : control.querySelector("textarea"));
  input.id = id;
  const help = hint && h("p", { class: "hint", id: `${id}-hint` }, hint);
  if (help) input.setAttribute("aria-describedby", help.id);
  return h("div", { class: "field", "data-pointer": pointer },
    h("label", { for: id }, label), control, help);
}

/**
 * What a control says. One that nobody has changed says what it was given, to the letter: controls turn line breaks into
 * their own.
 * @param {HTMLInputElement | HTMLTextAreaElement} control
 * @param {string} given
 */
export function textOf(control, given) {
  const twin = /** @type {HTMLInputElement | HTMLTextAreaElement} */ (control.cloneNode());
  twin.value = given;
  if (control.value === twin.value) return given;
  // Where all of its line breaks were of the kind that controls do not keep, so are those of what is typed.
  const isOfPairs = given.includes("\r\n") && !/[\r\n]/.test(given.replaceAll("\r\n", ""));
  return isOfPairs ? control.value.replaceAll("\n", "\r\n") : control.value;
}

/**
 * A box to tick, with a line below that says what it means.
 * @param {{label: Child, checked: boolean, pointer?: string, hint?: Child, onchange?: Attributes["onchange"], disabled?: boolean}} said
 */
export function tick({ label, checked, pointer, hint, onchange, disabled }) {
  const id = newId();
  const box = h("input", { type: "checkbox", id, checked, onchange, disabled });
  const help = hint && h("p", { class: "hint", id: `${id}-hint` }, hint);
  if (help) box.setAttribute("aria-describedby", help.id);
  const element = h("div", { class: "field tick", "data-pointer": pointer },
    box, h("label", { for: id }, label), help);
  return { element, box };
}

/**
 * The box of one of many, with some room around it that ticks it as well; what stands beside it says what it is called.
 * @param {string} called
 * @param {Attributes} attributes
 */
export function takeBox(called, attributes) {
  const box = h("input", { type: "checkbox", "aria-label": spelled(called), ...attributes });
  return { element: h("label", { class: "take" }, box), box };
}

/**
 * One of a few, all of them seen; `of(value)` is its button.
 * @template {string} V
 * @param {{legend: string, options: {value: V, label: Child}[], chosen: V, pointer?: string, onchange?: (chosen: V) => unknown,
 *   quiet?: boolean}} said
 */
export function choice({ legend, options, chosen, pointer, onchange, quiet = false }) {
  const group = newId();
  const labels = options.map(({ value, label }) =>
    h("label", {},
      h("input", { type: "radio", name: group, value, checked: value === chosen,
        onchange: () => onchange?.(value) }),
      h("span", {}, label)));
  const element = h("fieldset", { class: "field choice", "data-pointer": pointer },
    h("legend", { class: quiet && "unseen" }, legend), h("div", { class: "segments" }, labels));
  const input = (/** @type {string} */ selector) => /** @type {HTMLInputElement} */ (element.querySelector(selector));
  const of = (/** @type {V} */ value) => input(`[value="${value}"]`);
  return { element, of, chosen: () => /** @type {V} */ (input("input:checked").value) };
}

/**
 * A form that says what is wrong with it. `onsubmit(signal)` returns a promise: until it settles the form cannot be
 * sent again, nor can anything in it be changed, and what it throws is shown where it belongs. Whoever has waited for
 * long may stop, which aborts the signal. Nobody leaves what is typed in it unasked, unless it is nothing that would be
 * missed; they read then that it was sent, where that `saves` anything. `sure(held)` is asked before; nothing in the form
 * is changed while what it gives to `held` goes on, which fails where somebody types elsewhere by then, or has left the
 * form: no question opens over that, and nothing is sent.
 * @typedef {<T>(work: (signal: AbortSignal) => T | Promise<T>) => Promise<T>} Held
 * @param {{onsubmit: (signal: AbortSignal) => unknown, sure?: (held: Held) => Promise<boolean>, isMissed?: boolean, saves?: boolean,
 *   busy?: string, [attribute: string]: unknown}} said
 * @param {...Child} children
 */
export function form({ onsubmit, sure, isMissed = true, saves = true, busy = "Saving …", ...attributes }, ...children) {
  const summary = h("div", { class: "errors", role: "alert" });
  const still = h("div", { class: "still", role: "status" });
  const element = h("form", { novalidate: true, autocomplete: "off", ...attributes }, children, still, summary);
  if (isMissed) element.addEventListener("input", () => keepTyped(element, true));
  element.addEventListener("input", ({ target }) => clearErrors(/** @type {Element} */ (target).closest(".field") ?? still));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
  });
  let isSent = false;
  element.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isSent) return;
    isSent = true;
    clearErrors(element);
    const waiting = new AbortController();
    /** @type {Held} */
    const held = async (work) => {
      const free = hold(element, still, busy, waiting);
      try {
        return await work(waiting.signal);
      } finally {
        free();
      }
    };
    /** @type {Held} */
    const asked = async (work) => {
      const isStill = stay();
      const found = await held(work);
      if (!isStill() || isLeft(element)) throw new Error(ELSEWHERE); // whoever has left the form wants nothing of it
      return found;
    };
    try {
      if (sure && !(await sure(asked))) return;
      element.toggleAttribute("data-sent", saves);
      await held(onsubmit);
    } catch (error) {
      showErrors(element, waiting.signal.aborted ? new Error(CANCELLED) : /** @type {Error} */ (error));
    } finally {
      isSent = false;
      element.removeAttribute("data-sent");
      settleAll(); // what has come in its place, or in that of its fields, is for no second click
    }
  });
  return element;
}

/**
 * A button that leaves a form without sending it, or without waiting for what becomes of it.
 * @param {Attributes["onclick"]} act
 * @param {string} [text]
 */
export function leaveButton(act, text = "Cancel") {
  return button(text, act, { "data-leaves": true });
}

/**
 * Lets nobody change anything in a form, until what is returned is called.
 * @param {HTMLFormElement} element
 * @param {HTMLElement} still
 * @param {string} busy
 * @param {AbortController} waiting
 */
function hold(element, still, busy, waiting) {
  const fields = controlsOf(element).filter((one) => !one.readOnly);
  for (const one of fields) one.readOnly = true;
  const pressed = element.querySelector("button.primary, button.danger");
  const said = [...(pressed?.childNodes ?? [])];
  pressed?.replaceChildren(busy);
  const over = new AbortController();
  // Boxes and buttons know no "read-only", and where that is known, each blank scrolls the page by a window.
  const refuse = (/** @type {Event} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const { key = " " } = /** @type {Partial<KeyboardEvent>} */ (event);
    if (key !== " " || still.contains(target) || target.closest("[data-leaves]")) return;
    event.preventDefault();
    event.stopPropagation();
  };
  for (const kind of ["click", "keydown"]) element.addEventListener(kind, refuse, { capture: true, signal: over.signal });
  element.setAttribute("aria-busy", "true");
  const timer = setTimeout(() => still.replaceChildren(h("span", {}, "Still waiting for the server …"),
    h("button", { type: "button", class: "button", onclick: () => waiting.abort() }, "Stop waiting")), STILL_MS);
  return () => {
    element.removeAttribute("aria-busy");
    over.abort();
    clearTimeout(timer);
    still.replaceChildren();
    for (const one of fields) one.readOnly = false;
    pressed?.replaceChildren(...said);
  };
}

/**
 * Says whether a form holds what somebody has typed and not sent.
 * @param {Element} element
 * @param {boolean} is
 */
export function keepTyped(element, is) {
  element.toggleAttribute("data-typed", is);
}

/**
 * Whether something typed would be lost with this part of the page.
 * @param {Element} element
 */
export function holdsTyped(element) {
  return element.matches("[data-typed]") || element.querySelector("[data-typed]") !== null;
}

/** @typedef {(told?: Child) => void} End */

/** Where a form opens above a list, one at a time; what ends it leads back to what opened it. */
export class FormPlace {
  /** @type {HTMLElement | null} */
  #opener = null;

  constructor() {
    this.element = h("div", { class: "place" });
  }

  /**
   * Opens what `make(end)` returns, unless something is typed in the one that is open. `end(told)` ends it, if it is
   * still there, and tells something in its place.
   * @param {(end: End) => HTMLElement} make
   */
  open(make) {
    const isOpen = this.element.querySelector("form") !== null;
    if (!isOpen) this.#opener = /** @type {HTMLElement | null} */ (document.activeElement);
    if (!isOpen || !holdsTyped(this.element)) this.element.replaceChildren(this.#made(make));
    settleAll();
    lead(controlsOf(this.element)[0]);
  }

  /** @param {(end: End) => HTMLElement} make */
  #made(make) {
    /** @type {HTMLElement} */
    const element = make((told) => {
      if (isLeft(element)) return; // another one is there by now
      this.element.replaceChildren(...(told ? [h("p", { class: "notice" }, h("span", {}, told))] : []));
      if (told) announce(this.element.textContent);
      settleAll();
      lead(this.#opener?.isConnected ? this.#opener : document.querySelector("h1"));
    });
    return element;
  }
}

/** @param {Element} element */
export function clearErrors(element) {
  element.querySelector(".errors")?.replaceChildren();
  for (const told of element.querySelectorAll(".field > .error")) {
    const control = /** @type {Element} */ (element.querySelector(`[aria-describedby~="${told.id}"]`));
    const others = control.getAttribute("aria-describedby")?.replace(told.id, "").trim();
    if (others) control.setAttribute("aria-describedby", others);
    else control.removeAttribute("aria-describedby");
    control.removeAttribute("aria-invalid");
    told.remove();
  }
}

/**
 * Each error at the field its pointer names, and what names no field below all of them. Whoever has left the form is told at the
 * foot of the window, if it was to save something.
 * @param {HTMLFormElement} element
 * @param {Error} error
 */
function showErrors(element, error) {
  if (error instanceof Refused && error.status === 401) return; // one is asked to sign in instead
  if (isLeft(element)) {
    const isLost = element.matches("[data-sent]") && error.name !== "AbortError";
    if (isLost) notify("failed", lostOf(error), { caution: true });
    return;
  }
  const errors = error instanceof Refused ? error.errors : [];
  if (!errors.length) return say(element, error);
  for (const one of errors) {
    const place = fieldOf(element, one.source?.pointer);
    if (place) sayAt(place, one.detail);
    else say(element, { message: one.detail });
  }
  const at = document.activeElement;
  const wrong = controlsOf(element).find((one) => one.matches("[aria-invalid]"));
  lead(wrong, element);
  // It is read out with the control that gets the focus, and else by itself.
  const place = document.activeElement === at && wrong?.closest(".field");
  if (place) announce(within(place, ".error").map((one) => one.textContent).join(" "));
}

/** @param {Error} error */
function lostOf(error) {
  return error instanceof Unreachable ? UNANSWERED : `What you sent before you went on has failed. ${inWords(error)}`;
}

/**
 * Whether somebody else was faster than what was sent from an element, so that one sees there what is so now. Whoever has left
 * it is told that it has failed.
 * @param {unknown} error
 * @param {Element} element
 * @param {number[]} [also] what says so as well
 * @returns {error is Refused}
 */
export function isOvertaken(error, element, also = []) {
  return error instanceof Refused && [412, ...also].includes(error.status) && !isLeft(element);
}

/**
 * Something about the form as a whole.
 * @param {HTMLFormElement} element
 * @param {{message: string}} error
 */
export function say(element, error) {
  errorsOf(element).append(h("p", { class: "error" }, icon("warning"), shown(inWords(error))));
}

/**
 * Where a form says what is wrong with it as a whole.
 * @param {HTMLFormElement} element
 */
export function errorsOf(element) {
  return /** @type {HTMLElement} */ (element.querySelector(".errors"));
}

/** @param {Element} element */
function controlsOf(element) {
  return [.../** @type {NodeListOf<HTMLInputElement | HTMLTextAreaElement>} */ (element.querySelectorAll("input, textarea"))];
}

/**
 * @param {HTMLFormElement} element
 * @param {string | null | undefined} pointer
 */
function fieldOf(element, pointer) {
  if (!pointer) return null;
  const fields = within(element, "[data-pointer]");
  return fields.find((one) => one.dataset.pointer === pointer)
    ?? fields.find((one) => pointer.startsWith(`${one.dataset.pointer}/`)); // one of the parts that it has
}

/**
 * @param {HTMLElement} place
 * @param {string} text
 */
function sayAt(place, text) {
  const [control] = controlsOf(place);
  if (!control) return;
  const id = newId();
  control.setAttribute("aria-invalid", "true");
  const before = control.getAttribute("aria-describedby") ?? "";
  control.setAttribute("aria-describedby", `${before} ${id}`.trim());
  place.append(h("p", { class: "error", id }, icon("warning"), shown(text)));
}

function newId() {
  made += 1;
  return `f${made}`;
}
