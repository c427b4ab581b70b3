"""Accesses: who may do what with the variables of a workspace."""

from typing import Literal

import msgspec

from teamvars.domain.access import Level, Principal, PrincipalKind
from teamvars.services.workspaces import Accesses
from teamvars.web.http.attributes import Attribute, Group
from teamvars.web.http.operations import Operations
from teamvars.web.http.resource_objects import Identifier, to_many
from teamvars.web.http.resources import Resource
from teamvars.web.http.routes import Route

_TYPES = {"user": "users"}
_TOKEN_TYPE = "authentication-tokens"

AccessWord = Literal["read", "write"]


class AccessWay(msgspec.Struct):
    """A team that gives access, and how much."""

    team: str
    access: AccessWord


def _word(level: Level) -> AccessWord:
    return "write" if level >= Level.WRITE else "read"


_RELATIONSHIPS = Group[Principal](
    "WorkspaceAccessRelationships",
    "Who has access, and through which teams.",
    Attribute(
        "principal",
        Group(
            "OnePrincipal",
            "A relationship to a user or a token.",
            Attribute(
                "data",
                Identifier,
                lambda one: Identifier(one.id, _TYPES.get(one.kind, _TOKEN_TYPE)),
            ),
        ),
    ),
    to_many(
        "teams",
        "TeamsOfAccess",
        "A relationship to the teams that give access, in the order of `through`.",
        "teams",
        lambda one: [way.team_id for way in one.ways],
    ),
)
ACCESS = Resource[Principal](
    type="workspace-accesses",
    name="WorkspaceAccess",
    noun="an access",
    tag="Accesses",
    id=lambda one: one.id,
    attributes=(
        Attribute("kind", PrincipalKind, lambda one: one.kind),
        Attribute("name", str, lambda one: one.name),
        Attribute("access", AccessWord, lambda one: _word(one.level)),
        Attribute(
            "through",
            list[AccessWay],
            lambda one: [AccessWay(way.team, _word(way.level)) for way in one.ways],
        ),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    texts={
        "WorkspaceAccessAttributes": (
            "Who it is, and what they may do with the variables: `write` includes `read`.\n\n"
            "A token is named as the team or organization it belongs to. `access` is the highest "
            "of what is in `through`, where the team `owners` gives `write`; the organization's "
            "token needs no team."
        ),
        "WorkspaceAccessResource": "The access of one user or token; its id is theirs.",
        "WorkspaceAccessListDocument": "One page of those who have access to a workspace.",
    },
)


def routes(accesses: Accesses) -> list[Route]:
    """The one operation."""
    return [
        Operations(ACCESS).lists(
            "/api/v2/workspaces/{workspace_id}/access",
            "List who may read and write the variables of a workspace, and through which teams.",
            accesses.list,
            may_forbid=True,
            name="listWorkspaceAccesses",
        )
    ]
