"""Grants: teams' access to workspaces, `team-workspaces` on the wire."""
