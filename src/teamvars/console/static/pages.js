/** Which page is at which path. */

import { teamWorkspacesPage, workspaceAccessPage } from "./access.js";
import { activityPage, organizationActivityPage, teamActivityPage } from "./activity.js";
import { membersPage } from "./members.js";
import { organizationsPage } from "./organizations.js";
import { teamPage } from "./team.js";
import { teamsPage } from "./teams.js";
import { variablesPage } from "./variables.js";
import { workspacesPage } from "./workspaces.js";

export const ROOT = "/app";

// Few look at these, so they are asked for when somebody does.
const runnersPage = async (context) => (await import("./runners.js")).runnersPage(context);
const tokensPage = async (context) => (await import("./tokens.js")).tokensPage(context);

/** In order: the first that fits. The named groups are what a page is told. */
export const PAGES = [
  [/^\/app$/, organizationsPage],
  [/^\/app\/settings\/tokens$/, tokensPage],
  [/^\/app\/(?<organization>[^/]+)(?:\/workspaces)?$/, workspacesPage],
  [/^\/app\/(?<organization>[^/]+)\/activity$/, organizationActivityPage],
  [/^\/app\/(?<organization>[^/]+)\/members$/, membersPage],
  [/^\/app\/(?<organization>[^/]+)\/runners$/, runnersPage],
  [/^\/app\/(?<organization>[^/]+)\/teams$/, teamsPage],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)$/, teamPage],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/workspaces$/, teamWorkspacesPage],
  [/^\/app\/(?<organization>[^/]+)\/teams\/(?<team>[^/]+)\/activity$/, teamActivityPage],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)(?:\/variables)?$/, variablesPage],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/access$/, workspaceAccessPage],
  [/^\/app\/(?<organization>[^/]+)\/workspaces\/(?<workspace>[^/]+)\/activity$/, activityPage],
];
