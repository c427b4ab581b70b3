/** A variable set: what it is attached to, what it is called, and how it is deleted. */

import { Change, Refused, newest, send } from "./api.js";
import { deleteDialog } from "./delete_dialog.js";
import { addButton, announce, button, count, h, name } from "./dom.js";
import { FormPlace, form, keepTyped, leaveButton } from "./fields.js";
import { settleNew, stay } from "./hands.js";
import { readSet, setHead } from "./heads.js";
import { projectField, workspacesField } from "./named.js";
import { notify } from "./notices.js";
import { searchField } from "./paged_list.js";
import { address } from "./pages.js";
import { folded } from "./people.js";
import { redraw } from "./redraw.js";
import { agreed, effectsOf, effectsOfAttaching, summaryOf, workspacesOf } from "./set_effects.js";
import { setForm } from "./variable_sets.js";

/** @import { End } from "./fields.js" */
/** @import { Context } from "./pages.js" */
/** @typedef {"workspaces" | "projects"} Kind */
/** @typedef {{id: string, called: string}} Called */

/**
 * What it is attached to, as far as one sees it.
 * @param {Context} context
 */
export async function setAttachedPage(context) {
  const { found, workspaces, projects } = await readSet(context);
  return h("section", {}, setHead(context, found, "attached"),
    found.attributes.global && h("p", { class: "notice" },
      "It is global: it reaches every workspace of the organization, and those that are made later."),
    h("h2", { class: "part" }, "Workspaces"), new Attached(context, found, "workspaces", workspaces).element,
    h("h2", { class: "part" }, "Projects"), new Attached(context, found, "projects", projects).element);
}

/** So many are shown before one asks for more: there may be tens of thousands. */
const AT_ONCE = 100;

/** What it is attached to of a kind. */
class Attached {
  #asks = newest();
  /** @type {Called[]} */
  all = [];

  /**
   * @param {Context} context
   * @param {Api.VariableSetResource} set
   * @param {Kind} kind
   * @param {Called[]} attached
   */
  constructor(context, set, kind, attached) {
    this.context = context;
    this.set = set;
    this.kind = kind;
    this.noun = kind.slice(0, -1);
    this.base = `/organizations/${encodeURIComponent(context.organization)}`;
    this.path = `/varsets/${set.id}/relationships/${kind}`;
    this.may = set.attributes.permissions["can-update"];
    this.words = folded(address.said(kind));
    this.place = new FormPlace();
    this.lead = h("p", { class: "lead", role: "status" });
    this.rows = h("ul", { class: "rows", role: "list" });
    this.more = h("div", { class: "actions" });
    this.most = AT_ONCE;
    const filter = searchField(`Filter ${kind}`, (words) => {
      this.words = folded(words);
      this.most = AT_ONCE;
      this.#draw();
    }, kind);
    const [text, add] = kind === "workspaces" ? ["Attach to workspaces", addButton] : ["Attach to a project", button];
    this.element = h("div", {},
      h("div", { class: "toolbar" }, filter, this.may && h("div", { class: "actions" }, add(text, () => this.#open()))),
      this.place.element, this.lead, this.rows, this.more);
    this.#take(attached);
  }

  /** @param {Called[]} attached */
  #take(attached) {
    const order = new Intl.Collator("en").compare;
    this.all = attached.sort((a, b) => order(a.called, b.called));
    this.#draw();
  }

  #draw() {
    const shown = this.all.filter(({ called }) => folded(called).includes(this.words));
    const attached = `Attached to ${this.all.length ? count(this.all.length, this.noun) : `no ${this.noun}`}`;
    this.lead.textContent = this.words ? `${count(shown.length, this.noun)} found` : attached;
    this.rows.hidden = !shown.length;
    const some = shown.slice(0, this.most);
    redraw(this.rows, some.map((one) => ({ key: one.id, seen: one.called, make: () => this.#row(one) })));
    const more = () => button("Show more", () => settleNew(this.rows, () => {
      this.most += AT_ONCE;
      this.#draw();
    }));
    redraw(this.more, shown.length > some.length ? [{ key: "more", seen: true, make: more }] : []);
  }

  /** @param {Called} one */
  #row(one) {
    const href = `/app/${this.context.organization}/${this.kind}/${this.kind === "workspaces" ? one.called : one.id}`;
    return h("li", { class: "row" },
      h("span", { class: "name" }, h("a", { href }, name(one.called))),
      this.may && button("Detach", () => this.#detach(one), { kind: "bare", "aria-label": `Detach it from ${one.called}` }));
  }

  #open() {
    this.place.open((end) => this.#form(end));
  }

  /** @param {End} end */
  #form(end) {
    const change = new Change();
    const { elements, find } = this.kind === "workspaces" ? workspacesField(this.base, "/data") : projectField(this.base, "/data");
    /** @type {{id: string}[]} */
    let wanted = [];
    /** @type {HTMLFormElement} */
    const element = form({
      class: "card", "aria-label": "Attach the variable set", busy: "Attaching …",
      sure: async (held) => {
        const effects = await held(async (signal) => {
          wanted = await find(signal);
          return effectsOfAttaching("POST", this.path, linked(this.kind, wanted), signal);
        });
        return agreed(["Attach it to ", count(wanted.length, this.noun), "?"], effects, "Attach");
      },
      onsubmit: async (signal) => {
        await send("POST", this.path, { data: linked(this.kind, wanted) }, { change, signal });
        keepTyped(element, false);
        end(`It is attached to ${count(wanted.length, this.noun)} more.`);
        this.#refresh();
      },
    },
      elements,
      h("div", { class: "actions" }, h("button", { class: "button primary" }, "Attach …"), leaveButton(() => end())));
    return element;
  }

  /** @param {Called} one */
  async #detach(one) {
    const { signal } = this.context;
    const isStill = stay();
    const data = linked(this.kind, [one]);
    const effects = await effectsOfAttaching("DELETE", this.path, data, signal);
    if (!isStill() || !(await agreed(["Detach it from ", name(one.called), "?"], effects, "Detach", { kind: "danger" }))) return;
    await send("DELETE", this.path, { data }, { repeats: true });
    announce(`It is detached from ${one.called}.`);
    await this.#refresh();
  }

  async #refresh() {
    const isNewest = this.#asks();
    const found = await readSet(this.context);
    if (isNewest()) this.#take(found[this.kind]);
  }
}

/**
 * @param {Kind} type
 * @param {{id: string}[]} some
 */
function linked(type, some) {
  return [...new Set(some.map(({ id }) => id))].map((id) => ({ type, id }));
}

/**
 * What it is called, whether it is global and comes first, and how it goes: for whoever changes it.
 * @param {Context} context
 */
export async function setSettingsPage(context) {
  const { organization, go, signal } = context;
  const { found } = await readSet(context);
  const { name: called, permissions } = found.attributes;
  if (!permissions["can-update"]) throw new Refused(404, []);
  const settings = setForm({
    path: `/varsets/${found.id}`, set: found,
    agrees: async (attributes, held) => {
      const effects = await held((waiting) => effectsOf(found.id, { attributes }, waiting));
      return agreed(["Save ", name(called), "?"], effects, "Save");
    },
    done: async () => {
      await go(location.pathname, { replace: true });
      notify("told", "The variable set is saved.");
    },
  });
  const askToDelete = async () => {
    const isStill = stay();
    const effects = await effectsOf(found.id, null, signal);
    if (!isStill()) return;
    deleteDialog({
      title: "Delete this variable set?", what: "name", word: called, path: `/varsets/${found.id}`,
      text: "It is deleted for ever, with its variables: ", more: [h("p", {}, summaryOf(effects)), workspacesOf(effects)],
    }, async () => {
      await go(`/app/${organization}/varsets`);
      notify("told", `${called} is deleted.`);
    });
  };
  return h("section", {}, setHead(context, found, "settings"),
    h("div", { class: "narrow" }, settings,
      h("h2", { class: "part" }, "Delete the variable set"),
      h("p", { class: "lead" }, "Its variables are deleted with it, and no workspace gets them any more."),
      h("div", { class: "actions" }, button("Delete variable set", askToDelete, { picture: "remove" }))));
}
