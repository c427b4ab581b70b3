/**
 * Which page is at which path, and where one is. All are asked for when somebody looks; the shell of each path names what
 * its page is made of.
 */

export const ROOT = "/app";

/**
 * What a page is told: the names in its path, of which it has some; who looks at it; and when it is left.
 * @typedef {{organization: string, workspace: string, team: string, project: string, varset: string,
 *   account: Promise<import("./signin.js").Account>, signal: AbortSignal, query: URLSearchParams,
 *   go: (path: string, how?: {replace?: boolean}) => Promise<void>}} Context
 */

/** @typedef {(context: Context) => Promise<HTMLElement | null>} MakesPage */

/**
 * By the path below the root, in which a page is told what `:` names. In order: the first that fits.
 * @type {Record<string, () => Promise<MakesPage>>}
 */
const BY_PATH = {
  "": async () => (await import("./organizations.js")).organizationsPage,
  "/settings/tokens": async () => (await import("./tokens.js")).tokensPage,
  "/settings/login": async () => (await import("./logins.js")).loginPage,
  "/settings/device": async () => (await import("./logins.js")).devicePage,
  "/:organization": async () => (await import("./workspaces.js")).workspacesPage,
  "/:organization/workspaces": async () => (await import("./workspaces.js")).workspacesPage,
  "/:organization/activity": async () => (await import("./activity.js")).organizationActivityPage,
  "/:organization/settings": async () => (await import("./organization_settings.js")).organizationSettingsPage,
  "/:organization/leaving": async () => (await import("./leaving.js")).leavingPage,
  "/:organization/members": async () => (await import("./members.js")).membersPage,
  "/:organization/runners": async () => (await import("./runners.js")).runnersPage,
  "/:organization/projects": async () => (await import("./projects.js")).projectsPage,
  "/:organization/projects/:project": async () => (await import("./project.js")).projectPage,
  "/:organization/projects/:project/varsets": async () => (await import("./variable_sets.js")).projectSetsPage,
  "/:organization/projects/:project/access": async () => (await import("./project_access.js")).projectAccessPage,
  "/:organization/projects/:project/settings": async () => (await import("./project.js")).projectSettingsPage,
  "/:organization/varsets": async () => (await import("./variable_sets.js")).variableSetsPage,
  "/:organization/varsets/:varset": async () => (await import("./set_variables.js")).setVariablesPage,
  "/:organization/varsets/:varset/attached": async () => (await import("./variable_set.js")).setAttachedPage,
  "/:organization/varsets/:varset/activity": async () => (await import("./activity.js")).setActivityPage,
  "/:organization/varsets/:varset/settings": async () => (await import("./variable_set.js")).setSettingsPage,
  "/:organization/teams": async () => (await import("./teams.js")).teamsPage,
  "/:organization/teams/:team": async () => (await import("./team.js")).teamPage,
  "/:organization/teams/:team/workspaces": async () => (await import("./access.js")).teamWorkspacesPage,
  "/:organization/teams/:team/activity": async () => (await import("./activity.js")).teamActivityPage,
  "/:organization/workspaces/:workspace": async () => (await import("./variables.js")).workspaceVariablesPage,
  "/:organization/workspaces/:workspace/variables": async () => (await import("./variables.js")).workspaceVariablesPage,
  "/:organization/workspaces/:workspace/compare": async () => (await import("./comparing.js")).comparePage,
  "/:organization/workspaces/:workspace/access": async () => (await import("./access.js")).workspaceAccessPage,
  "/:organization/workspaces/:workspace/settings": async () => (await import("./workspace_settings.js")).workspaceSettingsPage,
  "/:organization/workspaces/:workspace/activity": async () => (await import("./activity.js")).activityPage,
};

/** The same, of whole paths. */
export const PAGES = Object.entries(BY_PATH).map(([path, load]) =>
  /** @type {const} */ ([new RegExp(`^${ROOT}${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`), load]));

/** Where one is, with what one looks for there: to that a reload comes back, and whoever goes back. */
export const address = {
  /** What it was when a page was shown, or since then. */
  shown: "",

  /** How far down one was there: a reload and whoever goes back come to that, too. */
  get top() {
    return history.state?.top ?? 0;
  },

  /** Another page is shown. */
  arrive() {
    address.shown = location.pathname + location.search;
  },

  /**
   * What one looks for there.
   * @param {string} word
   */
  said(word) {
    return new URLSearchParams(location.search).get(word) ?? "";
  },

  /**
   * Has it say what one looks for; nothing is as if it were not there.
   * @param {string} word
   * @param {string} text
   */
  keep(word, text) {
    const query = new URLSearchParams(location.search);
    if (text) query.set(word, text);
    else query.delete(word);
    const said = query.toString();
    history.replaceState(null, "", location.pathname + (said && `?${said}`));
    address.arrive();
  },
};
