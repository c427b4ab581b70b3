"""Variables of workspaces."""
