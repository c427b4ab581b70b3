"""What `/openapi.json` says that no route does: ids and names of examples, and what tags are."""

# By the names of the parameters of paths, and of what else documents name. Whoever tries an example
# puts ids of their own there.
IDS = {
    "organization": "acme",
    "workspace": "network",
    "workspace_id": "ws-7Yx2mQd4KpRt9VbN",
    "source_id": "ws-2QpLd8TnGj5BrXcE",
    "varset_id": "varset-5KdTm9XwRb2VqZeP",
    "set_variable_id": "var-6VyKc3bRmDq8XwFt",
    "project_id": "prj-9MtRb4XhVn6CqYwD",
    "variable_id": "var-3HfWc8sLzGq5TnEj",
    "team_id": "team-6BkRv1MxYt4DpZaS",
    "user_id": "user-9CgUe2JwNh7QsXfK",
    "membership_id": "ou-4TmZb6PdLr8VyGcA",
    "team_workspace_id": "tws-5NqXj3SkFu1WzHeD",
    "team_project_id": "tprj-8GxLv3HnRm6CdYtK",
    "runner_id": "run-2WcVx6NmQe9TzKsB",
    "expired_at": "2027-01-31T00:00:00Z",
    "tag_id": "tag-2FkNd7RwXp5VsBtG",
    "token_id": "at-8EhYa7RbMv2KxJtC",
    "link_secret": "tvi_7Kd2mQx9RtVbNp4LsGz8WfHc3TjEqY5UaXk6BvMrDn1ZtPwSe",
}
NEW_NAME = "a-new-name"
TAGS = {
    "Variables": "Variables of workspaces and variable sets: listed, searched and changed.",
    "Variable sets": "Variables that several workspaces share.",
    "Members": "Who is in a team.",
    "Memberships": "Who is in an organization, and who is invited.",
    "Workspaces": "What variables belong to, with the settings that clients keep there.",
    "Projects": "What workspaces of an organization are in, and are moved between.",
    "Applies": "Many variables of a workspace or variable set, changed together.",
    "Value checks": "Whether a value is well formed, before it is kept.",
    "Parsed files": "Files with variables, taken apart.",
    "Audit": "What was changed, when and by whom.",
    "Service": "The service itself, and what clients ask it first.",
    "Runners": "Which jobs are handed the values of workspaces, and what was handed out.",
    "Organizations": "What everything else belongs to.",
    "Users": "People, as they see themselves.",
    "Teams": "Groups of members, and what they may do in the organization.",
    "Team workspaces": "What a team may do in a workspace.",
    "Team projects": "What a team may do in all workspaces of a project.",
    "Accesses": "Who has access to a workspace, and through which teams.",
    "Tags": "Words and keys by which workspaces are found.",
    "Tokens": "What requests are made with.",
}
