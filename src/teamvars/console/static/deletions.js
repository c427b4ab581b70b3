/** Variables that are deleted some seconds after somebody wanted it, unless they think better of it. */

import { Refused, remove } from "./api.js";
import { failed, notify } from "./notices.js";
import * as session from "./session.js";

const WAIT_MS = 10_000;

export class Deletions {
  #waiting = new Map();

  /**
   * @param {string} path of the workspace's variables, below `/api/v2`
   * @param {{goes: Function, stays: Function, gone: Function}} told `goes(id, text, acts)` says in a variable's row that
   *   it is going, `stays(id)` that it is not, and `gone(id)` that it is gone
   * @param {AbortSignal} signal ends with the page: what waits is then deleted at once
   */
  constructor(path, told, signal) {
    this.path = path;
    this.told = told;
    signal.addEventListener("abort", () => this.#leave());
    addEventListener("pagehide", () => this.#leave(), { signal });
  }

  /** Deletes a variable in a while, as it is now. */
  add({ id, key, version }) {
    const act = (options) => this.#delete({ id, key, version, ...options });
    const token = session.token(); // whoever signs out meanwhile has deleted it all the same
    this.#waiting.set(id, { timer: setTimeout(act, WAIT_MS), act: () => act({ token }) });
    this.told.goes(id, "Deleted in ten seconds", [["Undo", () => this.#undo(id)], ["Delete now", () => act()]]);
  }

  #undo(id) {
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
    this.told.stays(id);
  }

  /** The browser sends it even if the page is gone. */
  async #delete({ id, key, version, token }) {
    clearTimeout(this.#waiting.get(id)?.timer);
    if (!this.#waiting.delete(id)) return;
    try {
      await remove(`${this.path}/${id}`, { ifMatch: `"${version}"`, keepalive: true, token });
    } catch (/** @type {any} */ error) {
      this.told.stays(id);
      const isChanged = error instanceof Refused && error.status === 412;
      const why = isChanged ? "Somebody has changed it meanwhile." : error.message;
      return failed(new Error(`${key} is not deleted. ${why}`));
    }
    this.told.gone(id);
    notify("told", `${key} is deleted.`);
  }

  #leave() {
    for (const { act } of [...this.#waiting.values()]) act();
  }
}
