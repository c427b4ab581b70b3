/** The variables of a workspace or a set as the page has them: found, sorted, counted. */

const SEARCHED_CHARACTERS = 1000;

/**
 * What a row says beside a variable; whether it is still the same is told by the text.
 * @typedef {{text: string, make: () => Element}} Told
 */

/**
 * A variable as the page has it: `from` where it comes from elsewhere, `beaten` by what.
 * @typedef {Omit<Api.VariableAttributes, "created-at"> & {id: string, version: string, searched: string, from?: Told,
 *   beaten?: Told}} Variable
 */

/** @typedef {Pick<Api.VariableResource, "id" | "attributes">} Resource */

/**
 * A variable as the page has it, of its resource object.
 * @param {Resource} resource
 * @returns {Variable}
 */
export function variableOf({ id, attributes }) {
  const { key, description, value } = attributes;
  const searched = [key, description, value?.slice(0, SEARCHED_CHARACTERS) ?? ""].join("\n").toLowerCase();
  return { id, ...attributes, version: attributes["version-id"], searched };
}

export class VariableList {
  /** @type {Map<string, Variable>} */
  #byId = new Map();
  /** @type {Variable[]} */
  #inherited = [];
  /** @type {Map<string, Told>} */
  #beaten = new Map();
  /** @type {Set<string>} */
  #pinned = new Set();
  /** @type {Variable[] | null} */
  #sorted = null;
  /** @type {string[]} */
  words = [];
  category = "";
  /** @type {Order} */
  order = "key";
  descending = false;

  /** @param {Resource[]} resources */
  constructor(resources) {
    this.replace(resources);
  }

  /** @param {Resource[]} resources */
  replace(resources) {
    this.#byId = new Map(resources.map((one) => [one.id, this.#own(one)]));
    this.#sorted = null;
  }

  /**
   * Takes in what comes from elsewhere, in the place of what came, and by what those here are `beaten`, by id.
   * @param {{rows: Variable[], beaten: Map<string, Told>}} inherited
   */
  inherit({ rows, beaten }) {
    this.#inherited = rows;
    this.#beaten = beaten;
    for (const one of this.#byId.values()) one.beaten = beaten.get(one.id);
    this.#sorted = null;
  }

  /**
   * @param {Resource} resource
   * @returns {Variable}
   */
  #own(resource) {
    return { ...variableOf(resource), beaten: this.#beaten.get(resource.id) };
  }

  /**
   * Takes in a variable that was made or changed.
   * @param {Resource} resource
   */
  put(resource) {
    this.#byId.set(resource.id, this.#own(resource));
    this.#sorted = null;
  }

  /** @param {string} id */
  drop(id) {
    this.#byId.delete(id);
    this.#sorted = null;
  }

  /**
   * One that is here, and not elsewhere.
   * @param {string} id
   */
  get(id) {
    return this.#byId.get(id);
  }

  /** All of them, in order. */
  get all() {
    const sign = this.descending ? -1 : 1;
    this.#sorted ??= [...this.#byId.values(), ...this.#inherited].sort((a, b) => sign * ORDERS[this.order](a, b) || byKey(a, b));
    return this.#sorted;
  }

  get size() {
    return this.#byId.size + this.#inherited.length;
  }

  /**
   * Looks for words, of a category or of all. Where that changes, what was pinned is no more.
   * @param {string} text
   * @param {string} category
   */
  lookFor(text, category) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.join(" ") === this.words.join(" ") && category === this.category) return;
    [this.words, this.category] = [words, category];
    this.#pinned.clear();
  }

  /**
   * Shows a variable, whatever is looked for, until something else is.
   * @param {string} id
   */
  pin(id) {
    this.#pinned.add(id);
  }

  /** By what they are chosen and sorted. */
  get look() {
    return [this.category, this.order, this.descending, ...this.words].join(" ");
  }

  /** Those with all the words, of any category. */
  get found() {
    const { words } = this;
    return this.all.filter((one) => this.#pinned.has(one.id) || words.every((word) => one.searched.includes(word)));
  }

  /**
   * Those to show of these.
   * @param {Variable[]} found
   */
  shown(found) {
    const isShown = (/** @type {Variable} */ one) => one.category === this.category || this.#pinned.has(one.id);
    return this.category ? found.filter(isShown) : found;
  }

  /** @param {Order} order */
  sortBy(order) {
    this.descending = this.order === order && !this.descending;
    this.order = order;
    this.#sorted = null;
  }
}

/** @typedef {"key" | "value" | "kind"} Order */

/** @type {Record<Order, (a: Variable, b: Variable) => number>} */
const ORDERS = {
  key: byKey,
  value: (a, b) => compare(a.value ?? "", b.value ?? ""),
  kind: (a, b) => compare(kindOf(a), kindOf(b)),
};

/**
 * What sorts beside each other in the column of that name.
 * @param {Variable} variable
 */
function kindOf({ category, hcl, sensitive }) {
  return `${category} ${hcl ? 1 : 0} ${sensitive ? 1 : 0}`;
}

/**
 * @param {Variable} a
 * @param {Variable} b
 */
function byKey(a, b) {
  return compare(a.key, b.key) || compare(a.category, b.category) || (a.beaten ? 1 : 0) - (b.beaten ? 1 : 0);
}

/**
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
