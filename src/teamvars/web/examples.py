"""The ids and the name that examples of requests have in `/openapi.json`."""

# By the names of the parameters of paths, and of what else documents name. Whoever tries an example
# puts ids of their own there.
IDS = {
    "organization": "acme",
    "workspace": "network",
    "workspace_id": "ws-7Yx2mQd4KpRt9VbN",
    "source_id": "ws-2QpLd8TnGj5BrXcE",
    "variable_id": "var-3HfWc8sLzGq5TnEj",
    "team_id": "team-6BkRv1MxYt4DpZaS",
    "user_id": "user-9CgUe2JwNh7QsXfK",
    "membership_id": "ou-4TmZb6PdLr8VyGcA",
    "team_workspace_id": "tws-5NqXj3SkFu1WzHeD",
    "runner_id": "run-2WcVx6NmQe9TzKsB",
    "expired_at": "2027-01-31T00:00:00Z",
    "tag_id": "tag-2FkNd7RwXp5VsBtG",
    "token_id": "at-8EhYa7RbMv2KxJtC",
    "link_secret": "tvi_7Kd2mQx9RtVbNp4LsGz8WfHc3TjEqY5UaXk6BvMrDn1ZtPwSe",
}
NEW_NAME = "a-new-name"
