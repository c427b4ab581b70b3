"""The documents of accesses to a workspace."""

from typing import Literal

import msgspec

from teamvars.domain.access import Level
from teamvars.domain.holders import Principal, PrincipalKind, Way
from teamvars.domain.pages import Paged
from teamvars.web.http import paging
from teamvars.web.http.resource_objects import Identifier

_TYPES = {"user": "users"}
_TOKEN_TYPE = "authentication-tokens"

AccessWord = Literal["read", "write"]


class AccessWay(msgspec.Struct):
    """A team that gives access, and how much."""

    team: str
    access: AccessWord


class WorkspaceAccessAttributes(msgspec.Struct):
    """Who it is, and what they may do with the variables: `write` includes `read`.

    A token is named as the team or organization it belongs to. `access` is the highest of what is
    in `through`, where the team `owners` gives `write`; the organization's token needs no team.
    """

    kind: PrincipalKind
    name: str
    access: AccessWord
    through: list[AccessWay]


class OnePrincipal(msgspec.Struct):
    """A relationship to a user or a token."""

    data: Identifier


class TeamsOfAccess(msgspec.Struct):
    """A relationship to the teams that give access, in the order of `through`."""

    data: list[Identifier]


class WorkspaceAccessRelationships(msgspec.Struct):
    """Who has access, and through which teams."""

    principal: OnePrincipal
    teams: TeamsOfAccess


class WorkspaceAccessResource(msgspec.Struct):
    """The access of one user or token; its id is theirs."""

    id: str
    type: str
    attributes: WorkspaceAccessAttributes
    relationships: WorkspaceAccessRelationships


class WorkspaceAccessListDocument(msgspec.Struct):
    """One page of those who have access to a workspace."""

    data: list[WorkspaceAccessResource]
    links: paging.PageLinks
    meta: paging.PageMeta


def access_list(
    found: Paged[Principal], links: paging.PageLinks, meta: paging.PageMeta
) -> WorkspaceAccessListDocument:
    """The document of one page."""
    return WorkspaceAccessListDocument([_resource(one) for one in found.items], links, meta)


def _resource(one: Principal) -> WorkspaceAccessResource:
    principal = Identifier(one.id, _TYPES.get(one.kind, _TOKEN_TYPE))
    return WorkspaceAccessResource(
        id=one.id,
        type="workspace-accesses",
        attributes=WorkspaceAccessAttributes(
            one.kind, one.name, _word(one.level), [_way(way) for way in one.ways]
        ),
        relationships=WorkspaceAccessRelationships(
            OnePrincipal(principal),
            TeamsOfAccess([Identifier(way.team_id, "teams") for way in one.ways]),
        ),
    )


def _way(way: Way) -> AccessWay:
    return AccessWay(way.team, _word(way.level))


def _word(level: Level) -> AccessWord:
    return "write" if level >= Level.WRITE else "read"
