"""teamvars: the variables of workspaces and the members of teams, behind a JSON:API."""

__version__ = "0.1.0"
