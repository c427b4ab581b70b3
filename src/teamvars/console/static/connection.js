/** Says so while the server cannot be reached. */

import { clear, notify } from "./notices.js";

const POLL_MS = 2000;
/** @type {ReturnType<typeof setInterval> | null} */
let waiting = null;

/** To be called when an answer has come. */
export function works() {
  if (waiting === null) return;
  clearInterval(waiting);
  waiting = null;
  clear("connection");
}

/** To be called when none has come; from then on it is tried until one does. */
export function breaks() {
  if (waiting !== null) return;
  notify("connection", "The server cannot be reached. What you typed stays here; trying again …",
    { caution: true, stays: true });
  waiting = setInterval(() => fetch("/healthz", { cache: "no-store" }).then(works, () => {}), POLL_MS);
}
