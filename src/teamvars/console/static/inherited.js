/** What a workspace gets from variable sets, and what does not count: each with what came before it, and why. */

import { newest, orTold, read, readPage } from "./api.js";
import { h, name } from "./dom.js";
import { variableOf } from "./variable_list.js";

/** @import { Answer, Page } from "./api.js" */
/** @import { Resource, Told, Variable } from "./variable_list.js" */

/**
 * What a workspace gets from sets, and what does not count of its own, by id.
 * @typedef {{rows: Variable[], beaten: Map<string, Told>}} Found
 */

/** @typedef {Omit<Api.EffectiveAttributes, "overrides">} Winner */

/**
 * The levels, each as that which has it is called.
 * @type {Partial<Record<Winner["level"], string>>}
 */
const LEVELS = {
  "priority-global": "a global set with priority",
  "priority-organization-by-project": "a set with priority at the project",
  "priority-organization-by-workspace": "a set with priority at the workspace",
  "priority-project-by-project": "a set of the project with priority",
  "priority-project-by-workspace": "a set of the project with priority at the workspace",
  workspace: "the workspace's own",
  "project-by-workspace": "a set of the project at the workspace",
  "project-by-project": "a set of the project",
  "organization-by-workspace": "a set at the workspace",
  "organization-by-project": "a set at the project",
  global: "a global set",
};

export class Inherited {
  #asks = newest();
  /** @type {string | null} */
  #etag = null;

  /**
   * @param {string} organization
   * @param {string} workspaceId
   * @param {AbortSignal} signal
   */
  constructor(organization, workspaceId, signal) {
    this.sets = `/app/${organization}/varsets`;
    this.path = `/workspaces/${workspaceId}`;
    this.signal = signal;
  }

  /**
   * The rows of sets, and what does not count of the workspace's own, by id; null where it is as before, where a newer
   * answer is there or comes, or where it cannot be told: the workspace's own are shown all the same.
   * @returns {Promise<Found | null>}
   */
  read() {
    return orTold("What comes from variable sets", () => this.#read());
  }

  /** @returns {Promise<Found | null>} */
  async #read() {
    const { signal } = this;
    const isNewest = this.#asks();
    /** @type {Page<Api.VariableSetResource, never>} */
    const { total } = await readPage(`${this.path}/varsets`, 1, { signal });
    /** @type {Answer<Pick<Api.EffectiveListDocument, "data"> | null>} */
    const { document, etag } = total ? await read(`${this.path}/effective-vars`, { ifNoneMatch: this.#etag, signal })
      : { document: { data: [] }, etag: null };
    const isShown = etag === this.#etag && (etag !== null || !total); // some proxies drop it
    if (!document || isShown || !isNewest()) return null;
    this.#etag = etag;
    return this.#sorted(document.data);
  }

  /**
   * @param {Api.EffectiveResource[]} found
   * @returns {Found}
   */
  #sorted(found) {
    /** @type {Variable[]} */
    const rows = [];
    /** @type {Map<string, Told>} */
    const beaten = new Map();
    for (const { id, attributes } of found) {
      const { overrides, ...winner } = attributes;
      if (isOfSet(winner)) rows.push(this.#row({ id, attributes: winner }));
      for (const loser of overrides) {
        const why = this.#why(winner, loser);
        if (isOfSet(loser)) rows.push(this.#row({ id: loser.id, attributes: { ...winner, description: "", hcl: false, ...loser } }, why));
        else beaten.set(loser.id, why);
      }
    }
    return { rows, beaten };
  }

  /**
   * @param {{id: string, attributes: Resource["attributes"] & {source: Api.VariableSource}}} resource
   * @param {Told} [beaten]
   * @returns {Variable}
   */
  #row(resource, beaten) {
    const { source } = resource.attributes;
    const one = variableOf(resource);
    const from = { text: source.name, make: () => h("span", { class: "description" }, "from ", this.#link(source)) };
    return { ...one, searched: `${one.searched}\n${source.name.toLowerCase()}`, from, beaten };
  }

  /**
   * By what a variable is overridden.
   * @param {Winner} winner
   * @param {Api.OverriddenVariable} loser
   * @returns {Told}
   */
  #why(winner, loser) {
    const { source, level } = winner;
    const rule = loser.rule === "name" ? "of two sets alike, its name comes first"
      : `${LEVELS[level]} comes before ${LEVELS[loser.level]}`;
    const by = () => (isOfSet(winner) ? ["overridden by ", this.#link(source)] : "overridden");
    return { text: `${source.id} ${source.name} ${rule}`, make: () => h("span", { class: "description why" }, by(), `: ${rule}`) };
  }

  /** @param {Api.VariableSource} source */
  #link({ id, name: called }) {
    return h("a", { href: `${this.sets}/${id}` }, name(called));
  }
}

/** @param {{source: Api.VariableSource}} variable */
function isOfSet({ source }) {
  return source.type === "varsets";
}
