"""Grants with their teams, and with the workspaces or projects that they are on."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from teamvars.domain.pages import Paged
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.team_access import Grant, NamedGrant
from teamvars.web.http.resources import Found
from teamvars.web.memberships import IncludedTeam, IncludedTeamAttributes
from teamvars.web.projects import IncludedProject
from teamvars.web.workspaces import IncludedWorkspace

G = TypeVar("G", Grant, ProjectGrant)

TEAM = "team"
"""What includes the teams."""


def with_names(
    place: str, included: Callable[[NamedGrant[G]], IncludedWorkspace | IncludedProject]
) -> Callable[[Paged[NamedGrant[G]], frozenset[str]], Found[G]]:
    """What shows a page of grants, with the teams and with what each is on, a `place`, where these
    are asked for.
    """

    def shown(page: Paged[NamedGrant[G]], includes: frozenset[str]) -> Found[G]:
        found: dict[str, msgspec.Struct] = {}
        for one in page.items:
            if TEAM in includes:
                found[one.grant.team_id] = _team(one)
            if place in includes:
                its = included(one)
                found[its.id] = its
        grants = [one.grant for one in page.items]
        return Found(grants, page.total, list(found.values()) if includes else UNSET)

    return shown


def _team(one: NamedGrant[Any]) -> IncludedTeam:
    return IncludedTeam(one.grant.team_id, IncludedTeamAttributes(one.team, one.visibility))
