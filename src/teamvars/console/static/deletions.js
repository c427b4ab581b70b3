/** Variables that are deleted some seconds after somebody wanted it, unless they think better of it. */

import { Refused, remove } from "./api.js";
import { failed, notify } from "./notices.js";
import * as session from "./session.js";

const WAIT_MS = 10_000;

/** @typedef {{id: string, key: string, version: string}} Wanted */

export class Deletions {
  /** @type {Map<string, {timer: ReturnType<typeof setTimeout>, act: () => unknown}>} */
  #waiting = new Map();

  /**
   * @param {string} path of the workspace's variables, below `/api/v2`
   * @param {{goes: (id: string, text: string, acts: import("./variable_table.js").Ways) => unknown, stays: (id: string) => unknown,
   *   gone: (id: string) => unknown, changed: () => unknown}} told `goes(id, text, acts)` says in a variable's row that
   *   it is going, `stays(id)` that it is not, and `gone(id)` that it is gone; `changed()` is called where one is another by now
   * @param {AbortSignal} signal ends with the page: what waits is then deleted at once
   */
  constructor(path, told, signal) {
    this.path = path;
    this.told = told;
    const leave = () => Promise.all([...this.#waiting.values()].map(({ act }) => act()));
    session.before.add(leave);
    signal.addEventListener("abort", () => {
      session.before.delete(leave);
      leave();
    });
    addEventListener("pagehide", leave, { signal });
  }

  /**
   * Deletes a variable in a while, as it is now.
   * @param {Wanted} variable
   */
  add({ id, key, version }) {
    const act = (token = /** @type {string | undefined} */ (undefined)) => this.#delete({ id, key, version }, token);
    const token = session.token() ?? undefined; // whoever signs out meanwhile has deleted it all the same
    const now = () => {
      this.told.goes(id, "Deleting …", []); // what is sent is not had back
      return act();
    };
    this.#waiting.set(id, { timer: setTimeout(now, WAIT_MS), act: () => act(token) });
    this.told.goes(id, "Deleted in ten seconds", [["Undo", () => this.#undo(id)], ["Delete now", now]]);
  }

  /** @param {string} id */
  #undo(id) {
    clearTimeout(this.#waiting.get(id)?.timer);
    this.#waiting.delete(id);
    this.told.stays(id);
  }

  /**
   * The browser sends it even if the page is gone.
   * @param {Wanted} variable
   * @param {string} [token]
   */
  async #delete({ id, key, version }, token) {
    clearTimeout(this.#waiting.get(id)?.timer);
    if (!this.#waiting.delete(id)) return;
    try {
      await remove(`${this.path}/${id}`, { ifMatch: `"${version}"`, keepalive: true, token });
    } catch (error) {
      this.told.stays(id);
      const isChanged = error instanceof Refused && error.status === 412;
      const why = isChanged ? "Somebody has changed it meanwhile." : /** @type {Error} */ (error).message;
      failed(new Error(`${key} is not deleted. ${why}`));
      if (isChanged) this.told.changed();
      return;
    }
    this.told.gone(id);
    notify("told", `${key} is deleted.`);
  }
}
