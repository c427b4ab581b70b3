/** What has changed in a workspace, a team or an organization. */

import { read, Refused } from "./api.js";
import { beginOf, button, h, name, shown } from "./dom.js";
import { MOST_NAMED, concerned, eventRow, workspacesIn } from "./events.js";
import { field, form } from "./fields.js";
import { settleNew } from "./hands.js";
import { organizationHead, readOrganization, readSet, readTeam, readWorkspace, setHead, teamHead, workspaceHead } from "./heads.js";
import { LONGEST } from "./paged_list.js";
import { peopleOf } from "./people.js";
import { redraw } from "./redraw.js";

/** @import { Answer } from "./api.js" */
/** @import { Event, People } from "./events.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {keyof typeof FILTERS} Filter */
/** @typedef {Api.OrganizationAuditEventAttributes} OfOrganization */
/** @typedef {{id: string, attributes: Event}} EventResource */
/**
 * A page of changes: by number, or by cursor.
 * @typedef {{data: EventResource[], meta?: Api.AuditEventMeta, links?: Api.CursorLinks}} EventsDocument
 */

const PAGE_SIZE = 50;
/** So many workspaces of a page of changes are named at most: each is asked for. */
const MOST_WORKSPACES = 12;
const FILTERS = { actor: "By whom", workspace: "Workspace", key: "Key", q: "Part of a key", since: "Since" };

/**
 * Of a workspace, for whoever reads its variables.
 * @param {Context} context
 */
export async function activityPage(context) {
  const { found } = await readWorkspace(context);
  const here = `/app/${context.organization}/workspaces/${found.attributes.name}`;
  const events = new Events(context, `/workspaces/${found.id}/audit-events`, ["key", "q"],
    (one, people) => eventRow(one, people, here));
  await events.begin();
  return h("section", {}, workspaceHead(context, found, "activity"),
    h("p", { class: "lead noted" }, "Who changed what, and never a value: what could be read once may have become a secret since."),
    events.element);
}

/**
 * Of a variable set, for whoever reads its variables.
 * @param {Context} context
 */
export async function setActivityPage(context) {
  const { found } = await readSet(context);
  const here = `/app/${context.organization}/varsets/${found.id}`;
  const events = new Events(context, `/varsets/${found.id}/audit-events`, ["key", "q"], (one, people) => eventRow(one, people, here));
  await events.begin();
  return h("section", {}, setHead(context, found, "activity"), events.element);
}

/**
 * Of a team, for whoever changes its members.
 * @param {Context} context
 */
export async function teamActivityPage(context) {
  const found = await readTeam(context);
  const events = new Events(context, `/teams/${found.id}/audit-events`, [],
    (one, people) => eventRow(one, people, null));
  await events.begin();
  return h("section", {}, teamHead(context, found, "activity"), events.element);
}

/**
 * Of an organization and all of its teams and workspaces, for owners.
 * @param {Context} context
 */
export async function organizationActivityPage(context) {
  const { organization } = context;
  const base = `/organizations/${encodeURIComponent(organization)}`;
  const found = await readOrganization(context);
  const events = new Events(context, `${base}/audit-events`, ["actor", "workspace", "key", "q", "since"], (one, people) => {
    const { action, stream: { id, type }, "stream-name": called, subject } = /** @type {OfOrganization} */ (one);
    /** @type {Record<string, string>} */
    const pages = {
      workspaces: `/app/${organization}/workspaces/${called}`, teams: `/app/${organization}/teams/${id}`,
      varsets: `/app/${organization}/varsets/${id}`,
    };
    const here = called && pages[type];
    const place = here ? h("a", { href: here }, name(called)) : type !== "organizations" && "what is gone";
    const team = action !== "team.delete" && subject.type === "teams" && `/app/${organization}/teams/${subject.id}`;
    return eventRow(one, people, here || team || null, place);
  });
  await events.begin();
  return h("section", {}, organizationHead(found, "activity"), events.element);
}

class Events {
  /** @type {Set<string>} */
  #known = new Set();
  /**
   * What those are called now, by id, whom changes were about.
   * @type {People}
   */
  #called = new Map();
  #next = "";
  #isReading = false;

  /**
   * @param {Context} context
   * @param {string} path
   * @param {Filter[]} filters
   * @param {(event: Event, people: People) => Element} row
   */
  constructor({ organization, query, go, signal }, path, filters, row) {
    const given = filters.filter((one) => query.get(one));
    const asked = (/** @type {Filter} */ one) => (one === "since" ? beginOf(query.get(one) ?? "") : query.get(one) ?? "");
    const said = given.map((one) => `&${one === "q" ? one : `filter[${one}]`}=${encodeURIComponent(asked(one))}`).join("");
    this.path = `${path}?page[size]=${PAGE_SIZE}${said}`;
    this.signal = signal;
    this.row = row;
    this.organization = organization;
    this.isNarrowed = given.length > 0;
    this.rows = h("ol", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.element = h("div", {}, filters.length > 0 && narrowing(filters, query, go), this.rows, this.more);
  }

  /** Shows the first page. What one wants to see alone may be refused: one goes on from its fields. */
  async begin() {
    try {
      await this.draw();
    } catch (error) {
      if (!(this.isNarrowed && error instanceof Refused && error.status === 400)) throw error;
      this.rows.hidden = true;
      this.more.append(h("div", { class: "empty" }, h("h2", {}, "That did not work"), h("p", {}, shown(error.message))));
    }
  }

  /**
   * Adds a page. What has happened meanwhile moves numbered pages on: nothing is shown twice. A page
   * by cursor may be empty and not be the last.
   */
  async draw(path = this.path) {
    /** @type {Answer<EventsDocument>} */
    const { document } = await read(path, { signal: this.signal });
    const fresh = document.data.filter((one) => !this.#known.has(one.id));
    const names = await Promise.all([this.#peopleOf(fresh), this.#workspacesOf(fresh)]);
    fresh.forEach((one) => this.#known.add(one.id)); // not before: where names cannot be read, these are asked for once more
    this.#called = new Map([...this.#called, ...names.flat()]);
    this.rows.append(...fresh.map((one) => this.row(one.attributes, this.#called)));
    const number = document.meta?.pagination["next-page"];
    this.#next = number ? `${this.path}&page[number]=${number}` : document.links?.next ?? "";
    this.rows.hidden = !this.#known.size;
    const older = { key: "older", seen: true, make: () => button("Older", () => this.#readOn()) };
    const nothing = { key: "nothing", seen: true, make: () => this.#nothing() };
    redraw(this.more, this.#next ? [older] : this.#known.size ? [] : [nothing]);
  }

  /** Adds the next page, one at a time: what comes after it is known once it is there. */
  async #readOn() {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      await settleNew(this.rows, () => this.draw(this.#next));
    } finally {
      this.#isReading = false;
    }
  }

  /**
   * What those are called now, by id, whom the changes were about, if that is not known yet: the first few of each.
   * @param {EventResource[]} events
   * @returns {Promise<[string, string][]>}
   */
  async #peopleOf(events) {
    const ids = this.#unknown(events.flatMap((one) => concerned(one.attributes).slice(0, MOST_NAMED)));
    const found = await peopleOf(this.organization, ids, { signal: this.signal });
    return found.flatMap(({ membershipId, userId, username }) => [[membershipId, username], [userId, username]]);
  }

  /**
   * The same of workspaces that are still there, and that one may see.
   * @param {EventResource[]} events
   * @returns {Promise<[string, string][]>}
   */
  async #workspacesOf(events) {
    const ids = this.#unknown(events.flatMap((one) => workspacesIn(one.attributes))).slice(0, MOST_WORKSPACES);
    /** @type {(Answer<Api.WorkspaceDocument> | null)[]} */
    const found = await Promise.all(ids.map((id) => read(`/workspaces/${id}`, { signal: this.signal }).catch(() => null)));
    return found.flatMap((one) => (one ? [[one.document.data.id, one.document.data.attributes.name]] : []));
  }

  /** @param {string[]} ids */
  #unknown(ids) {
    return [...new Set(ids)].filter((one) => !this.#called.has(one));
  }

  #nothing() {
    return h("div", { class: "empty" },
      h("h2", {}, this.isNarrowed ? "No such changes" : "Nothing has changed yet"),
      h("p", {}, this.isNarrowed ? "Names and keys must match exactly, parts of keys in any case. The newest 10,000 changes are searched."
        : "Each change is listed here, with who made it."));
  }
}

/**
 * Fields for what one wants to see alone.
 * @param {Filter[]} filters
 * @param {URLSearchParams} query
 * @param {Context["go"]} go
 */
function narrowing(filters, query, go) {
  const inputs = filters.map((one) => ({ one, input: h("input", { type: one === "since" ? "date" : "search",
    value: query.get(one) ?? "", spellcheck: "false", autocapitalize: "none", maxlength: LONGEST,
    class: ["key", "q"].includes(one) && "code" }) }));
  return form({
    class: "narrowing",
    isMissed: false,
    onsubmit: () => {
      const said = inputs.filter(({ input }) => input.value.trim());
      const words = new URLSearchParams(said.map(({ one, input }) => [one, input.value.trim()])).toString();
      return go(location.pathname + (words && `?${words}`));
    },
  }, inputs.map(({ one, input }) => field({ label: FILTERS[one], control: input })),
  h("button", { class: "button" }, "Show"));
}
