/** Which page is at which path. Those that one comes by first are there at once, and others are asked for when somebody looks. */

import { organizationsPage } from "./organizations.js";
import { workspaceVariablesPage } from "./variables.js";
import { workspacesPage } from "./workspaces.js";

export const ROOT = "/app";

/**
 * What a page is told: the names in its path, of which it has some; who looks at it; and when it is left.
 * @typedef {{organization: string, workspace: string, team: string, project: string, varset: string,
 *   account: Promise<import("./signin.js").Account>, signal: AbortSignal, query: URLSearchParams,
 *   go: (path: string, how?: {replace?: boolean}) => Promise<void>}} Context
 */

/** @typedef {(context: Context) => Promise<HTMLElement | null>} MakesPage */

const access = () => import("./access.js");
const activity = () => import("./activity.js");
const logins = () => import("./logins.js");
const project = () => import("./project.js");
const variableSet = () => import("./variable_set.js");

/**
 * In order: the first that fits. The named groups are what a page is told.
 * @type {[RegExp, MakesPage][]}
 */
export const PAGES = [
  [/^\/app$/, organizationsPage],
  [/^\/app\/settings\/tokens$/, async (context) => (await import("./tokens.js")).tokensPage(context)],
  [/^\/app\/settings\/login$/, async (context) => (await logins()).loginPage(context)],
  [/^\/app\/settings\/device$/, async (context) => (await logins()).devicePage(context)],
  [/^\/app\/(?<organization>[^/]+)(?:\/workspaces)?$/, workspacesPage],
  [/^\/app\/(?<organization>[^/]+)\/activity$/,
    async (context) => (await activity()).organizationActivityPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/settings$/,
    async (context) => (await import("./organization_settings.js")).organizationSettingsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/members$/, async (context) => (await import("./members.js")).membersPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/runners$/, async (context) => (await import("./runners.js")).runnersPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/projects$/,
    async (context) => (await import("./projects.js")).projectsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/projects\/(?<project>[^/]+)$/,
    async (context) => (await project()).projectPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/projects\/(?<project>[^/]+)\/varsets$/,
    async (context) => (await import("./variable_sets.js")).projectSetsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/projects\/(?<project>[^/]+)\/access$/,
    async (context) => (await import("./project_access.js")).projectAccessPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/projects\/(?<project>[^/]+)\/settings$/,
    async (context) => (await project()).projectSettingsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/varsets$/,
    async (context) => (await import("./variable_sets.js")).variableSetsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/varsets\/(?<varset>[^/]+)$/,
    async (context) => (await import("./set_variables.js")).setVariablesPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/varsets\/(?<varset>[^/]+)\/attached$/,
    async (context) => (await variableSet()).setAttachedPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/varsets\/(?<varset>[^/]+)\/activity$/,
    async (context) => (await activity()).setActivityPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/varsets\/(?<varset>[^/]+)\/settings$/,
    async (context) => (await variableSet()).setSettingsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams$/, async (context) => (await import("./teams.js")).teamsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)$/,
    async (context) => (await import("./team.js")).teamPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/workspaces$/,
    async (context) => (await access()).teamWorkspacesPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/activity$/,
    async (context) => (await activity()).teamActivityPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)(?:\/variables)?$/, workspaceVariablesPage],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/access$/,
    async (context) => (await access()).workspaceAccessPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/settings$/,
    async (context) => (await import("./workspace_settings.js")).workspaceSettingsPage(context)],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/activity$/,
    async (context) => (await activity()).activityPage(context)],
];
