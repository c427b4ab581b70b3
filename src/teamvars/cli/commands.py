"""The commands of both rooms by name, and the environment variables that they heed."""

GROUPS = {
    "login": "Log in to a service, and store the token.",
    "login tokens": "Your own tokens.",
    "workspace": "Workspaces, and who has access.",
    "team": "Who is in a team.",
    "migrate": "The schema of the database.",
    "directory": "Users, organizations, workspaces and teams.",
    "invite": "Invitations to organizations.",
    "token": "API tokens.",
    "user": "Users, also those who leave.",
    "keys": "The keys of the keyring.",
    "audit": "The audit trail.",
    "vars": "The variables of a workspace.",
}
OPERATOR = (
    ("dev", "dev:dev", "Try teamvars: a server with sample data, until Ctrl-C."),
    (
        "init",
        "installation:init",
        "Make the data directory, the keyring, the schema and the keyring's mark.",
    ),
    ("serve", "serve:serve", "Serve the API until SIGTERM."),
    ("doctor", "doctor:doctor", "Check everything, change nothing."),
    ("migrate up", "installation:up", "Apply missing migrations."),
    (
        "migrate status",
        "installation:status",
        "List the migrations that are missing, unfinished or waiting.",
    ),
    (
        "migrate check",
        "installation:check",
        "Exit with 3 if migrations are missing or unfinished.",
    ),
    ("directory apply", "directory:apply", "Apply a directory file."),
    (
        "directory export",
        "directory:export",
        "Print the directory as a file that 'directory apply' takes.",
    ),
    ("invite create", "invitations:create", "Invite somebody by e-mail address."),
    ("invite list", "invitations:list_", "List the invitations that nobody has accepted yet."),
    ("invite resend", "invitations:resend", "Make a new link and void the old one."),
    ("invite revoke", "invitations:revoke", "Revoke an invitation."),
    ("token create", "tokens:create", "Make a token and show it, once."),
    ("token list", "tokens:list_", "List the tokens that are not revoked."),
    ("token revoke", "tokens:revoke", "Revoke tokens at once."),
    ("user list", "users:list_", "List all users."),
    ("user show", "users:show", "Show a user's memberships and tokens."),
    ("user disable", "users:disable", "Refuse all of a user's tokens from now on."),
    ("user enable", "users:enable", "Accept a user's tokens and memberships again."),
    ("user rename", "users:rename", "Give a user another name."),
    ("access", "users:access", "Show who may read and write the variables of a workspace."),
    ("keys status", "installation:keys_status", "List the keys, and which are active."),
    ("audit list", "audit:list_", "Show the newest entries."),
    ("audit verify", "audit:verify", "Prove that nobody has altered the trail."),
    ("audit accept", "audit:accept", "Let a stream go on although somebody has altered it."),
    ("audit head", "audit:head", "Print the head of each stream."),
    ("audit export", "audit:export", "Print all entries, one JSON object a line."),
)
"""Each command's words, its function in a module of `cli/operator`, and a summary of its help."""

CLIENT = (
    ("vars list", "variables:list_", "List the variables of a workspace."),
    ("vars get", "variables:get", "Show a variable."),
    ("vars set", "setting:set_", "Set variables: create or update them."),
    ("vars unset", "setting:unset", "Delete variables, all or none."),
    ("vars edit", "setting:edit", "Edit a value in your own editor."),
    ("vars diff", "importing:diff", "Show what applying a file would change."),
    ("vars import", "importing:import_", "Add and update variables from a file."),
    ("vars apply", "importing:apply", "Make the variables match a file."),
    ("vars export", "files:export", "Print variables as a file."),
    ("vars copy", "setting:copy", "Copy variables from another workspace."),
    (
        "vars search",
        "variables:search",
        "Find variables in all workspaces you may read.",
    ),
    ("vars history", "variables:history", "Show who changed a variable, newest first."),
    ("run", "running:run", "Run a command with the variables in its environment."),
    ("login", "login:login", "Log in to a service, and store the token."),
    ("login accept", "login:accept", "Accept an invitation."),
    ("login tokens list", "login:list_", "List your tokens."),
    ("login tokens create", "login:create", "Make a token for yourself and show it once."),
    ("login tokens revoke", "login:revoke", "Revoke your tokens at once."),
    ("logout", "login:logout", "Forget a stored token."),
    ("whoami", "login:whoami", "Show who you are, on which service, and which settings say so."),
    ("link", "workspaces:link", "Choose the workspace for this folder and those below it."),
    ("workspace list", "workspaces:list_", "List the workspaces you see."),
    ("workspace access", "workspaces:access", "Show who may read and write the variables."),
    ("team list", "teams:list_", "List the teams you see."),
    ("team members", "teams:members", "List the members of a team."),
    ("team add", "teams:add", "Add people to a team, all or none."),
    ("team remove", "teams:remove", "Remove people from a team, all or none."),
    (
        "completion",
        "completion:completion",
        "Print a script that completes commands, options and names.",
    ),
    ("manual", "manual:manual", "Print the manual page: all commands with their options."),
    ("version", "login:version", "Show the versions of this command and of the service."),
)
"""The same of `cli/client`. No noun is in both: whoever types one knows what it opens."""
ADDRESS, TOKEN = "TEAMVARS_ADDRESS", "TEAMVARS_TOKEN"
ORGANIZATION, WORKSPACE = "TEAMVARS_ORGANIZATION", "TEAMVARS_WORKSPACE"
PROXY = "TEAMVARS_PROXY"
CLIENT_VARIABLES = frozenset((ADDRESS, TOKEN, ORGANIZATION, WORKSPACE, PROXY))
