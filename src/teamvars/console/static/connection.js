/** Says so, at the top of the page, while the server cannot be reached. */

import { h, icon } from "./dom.js";

const POLL_MS = 2000;
let waiting = null;

/** To be called when an answer has come. */
export function works() {
  if (waiting === null) return;
  clearInterval(waiting);
  waiting = null;
  document.getElementById("connection").replaceChildren();
}

/** To be called when none has come; from then on it is tried until one does. */
export function breaks() {
  if (waiting !== null) return;
  const text = "The server cannot be reached. What you typed stays here; trying again …";
  const notice = h("p", { class: "notice caution" }, icon("warning"), text);
  document.getElementById("connection").replaceChildren(notice);
  waiting = setInterval(() => fetch("/healthz", { cache: "no-store" }).then(works, () => {}), POLL_MS);
}
