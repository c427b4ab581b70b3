"""Teams' access to workspaces."""
