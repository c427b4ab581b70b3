/** Has a value that is code tried by the server, shortly after the last key, one at a time. */

import { send } from "./api.js";

/** @import { Answer } from "./api.js" */

const WAIT_MS = 400;
/** Not known to every browser yet. */
const { rawJSON } = /** @type {JSON & {rawJSON?: (text: string) => unknown}} */ (JSON);

/**
 * Keeps all digits of a number: JavaScript would keep the first sixteen, and show another number.
 * @param {string} _key
 * @param {unknown} value
 * @param {{source?: string}} [context]
 */
function asWritten(_key, value, { source } = {}) {
  return rawJSON && source && typeof value === "number" && String(value) !== source ? rawJSON(source) : value;
}

export class ValueCheck {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #running = false;
  /** @type {string | null} */
  #wanted = null;
  #due = false;

  /**
   * @param {string} path where it is tried
   * @param {(result: Api.ValueCheckAnswer | null, error?: Error) => void} tell what became of the newest value; null
   *   where nothing is known of it yet
   */
  constructor(path, tell) {
    this.path = path;
    this.tell = tell;
  }

  /**
   * Tries this value soon, in the place of any former one.
   * @param {string} value
   */
  later(value) {
    this.stop();
    this.#wanted = value;
    this.#timer = setTimeout(() => {
      this.#due = true;
      this.#run();
    }, WAIT_MS);
  }

  /** Tells nothing any more. */
  stop() {
    clearTimeout(this.#timer);
    this.#wanted = null;
    this.#due = false;
    this.tell(null);
  }

  async #run() {
    if (this.#running || !this.#due) return;
    const value = this.#wanted;
    this.#due = false;
    this.#running = true;
    const [result, error] = await this.#ask(value);
    this.#running = false;
    if (this.#wanted === value) this.tell(result, error);
    else this.#run();
  }

  /**
   * @param {string | null} value
   * @returns {Promise<[Api.ValueCheckAnswer | null, Error?]>}
   */
  async #ask(value) {
    const data = { type: "value-checks", attributes: { value, hcl: true } };
    try {
      /** @type {Answer<Api.ValueCheckAnswerDocument>} */
      const { document } = await send("POST", this.path, { data }, { reviver: asWritten });
      return [document.data.attributes];
    } catch (error) {
      return [null, /** @type {Error} */ (error)];
    }
  }
}
