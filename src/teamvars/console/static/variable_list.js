/** The variables of a workspace or a set as the page has them: found, sorted, counted. */

const SEARCHED_CHARACTERS = 1000;

/** A variable as the page has it, of its resource object. */
export function variableOf({ id, attributes }) {
  const one = { id, ...attributes, version: attributes["version-id"] };
  one.searched = [one.key, one.description, one.value?.slice(0, SEARCHED_CHARACTERS) ?? ""].join("\n").toLowerCase();
  return one;
}

export class VariableList {
  #byId = new Map();
  #inherited = [];
  #beaten = new Map();
  #pinned = new Set();
  /** @type {any[] | null} */
  #sorted = null;
  words = [];
  category = "";
  order = "key";
  descending = false;

  constructor(resources) {
    this.replace(resources);
  }

  replace(resources) {
    this.#byId = new Map(resources.map((one) => [one.id, this.#own(one)]));
    this.#sorted = null;
  }

  /** Takes in what comes from elsewhere, in the place of what came, and by what those here are `beaten`, by id. */
  inherit({ rows, beaten }) {
    this.#inherited = rows;
    this.#beaten = beaten;
    for (const one of this.#byId.values()) one.beaten = beaten.get(one.id);
    this.#sorted = null;
  }

  #own(resource) {
    return { ...variableOf(resource), beaten: this.#beaten.get(resource.id) };
  }

  /** Takes in a variable that was made or changed. */
  put(resource) {
    this.#byId.set(resource.id, this.#own(resource));
    this.#sorted = null;
  }

  drop(id) {
    this.#byId.delete(id);
    this.#sorted = null;
  }

  /** One that is here, and not elsewhere. */
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

  /** Looks for words, of a category or of all. Where that changes, what was pinned is no more. */
  lookFor(text, category) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.join(" ") === this.words.join(" ") && category === this.category) return;
    [this.words, this.category] = [words, category];
    this.#pinned.clear();
  }

  /** Shows a variable, whatever is looked for, until something else is. */
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

  /** Those to show of these. */
  shown(found) {
    const isShown = (one) => one.category === this.category || this.#pinned.has(one.id);
    return this.category ? found.filter(isShown) : found;
  }

  sortBy(order) {
    this.descending = this.order === order && !this.descending;
    this.order = order;
    this.#sorted = null;
  }
}

const ORDERS = {
  key: byKey,
  value: (a, b) => compare(a.value ?? "", b.value ?? ""),
  kind: (a, b) => compare(kindOf(a), kindOf(b)),
};

/** What sorts beside each other in the column of that name. */
function kindOf({ category, hcl, sensitive }) {
  return `${category} ${hcl ? 1 : 0} ${sensitive ? 1 : 0}`;
}

function byKey(a, b) {
  return compare(a.key, b.key) || compare(a.category, b.category) || (a.beaten ? 1 : 0) - (b.beaten ? 1 : 0);
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
