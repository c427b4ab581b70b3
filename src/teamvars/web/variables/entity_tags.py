"""Entity tags of variables and of lists of them (contract §4)."""

import hashlib

from teamvars.domain.preconditions import ANY_VERSION, Versions
from teamvars.domain.workspaces import Workspace
from teamvars.web.dialects import Dialect
from teamvars.web.http.negotiation import wanted_tags
from teamvars.web.http.request import Request


def entity_tag(version: str, workspace: Workspace, dialect: Dialect) -> str:
    """The version, a dot, and a short hash of whatever else the document shows."""
    shown = f"{workspace.organization_name}/{workspace.name}/{dialect.name}"
    return f'"{version}.{hashlib.sha256(shown.encode()).hexdigest()[:8]}"'


def wanted_versions(request: Request) -> Versions:
    """The versions that `If-Match` admits: each tag up to its dot."""
    tags = wanted_tags(request.header("if-match"))
    if tags is None:
        return ANY_VERSION
    return Versions(frozenset(tag.partition(".")[0] for tag in tags))
