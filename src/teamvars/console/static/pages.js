/** Which page is at which path. Most are asked for when somebody looks at them. */

export const ROOT = "/app";

const access = () => import("./access.js");
const activity = () => import("./activity.js");

/**
 * In order: the first that fits. The named groups are what a page is told.
 * @type {[RegExp, (context: any) => Promise<unknown>][]}
 */
export const PAGES = [
  [/^\/app$/, async (context) => (await import("./organizations.js")).organizationsPage(context)],
  [/^\/app\/settings\/tokens$/, async (context) => (await import("./tokens.js")).tokensPage(context)],
  [/^\/app\/(?<organization>[^/]+)(?:\/workspaces)?$/,
    async (context) => (await import("./workspaces.js")).workspacesPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/activity$/,
    async (context) => (await activity()).organizationActivityPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/members$/, async (context) => (await import("./members.js")).membersPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/runners$/, async (context) => (await import("./runners.js")).runnersPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams$/, async (context) => (await import("./teams.js")).teamsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)$/,
    async (context) => (await import("./team.js")).teamPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/workspaces$/,
    async (context) => (await access()).teamWorkspacesPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/activity$/,
    async (context) => (await activity()).teamActivityPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)(?:\/variables)?$/,
    async (context) => (await import("./variables.js")).variablesPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/access$/,
    async (context) => (await access()).workspaceAccessPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/settings$/,
    async (context) => (await import("./workspace_settings.js")).workspaceSettingsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/activity$/,
    async (context) => (await activity()).activityPage(context)],
];
