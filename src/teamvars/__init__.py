"""teamvars: the variables of workspaces and the members of teams, behind a JSON:API."""

from teamvars.versions import version

__version__ = version()
