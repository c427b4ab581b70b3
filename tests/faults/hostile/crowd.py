"""A neighbour of the bystander's: an organization with many workspaces, teams and tokens."""

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.team_access import AccessType
from teamvars.domain.tokens import OwnerName
from teamvars.services.directory_files.files import Options
from tests.support.deployment import operator
from tests.support.served_deployment import ServedDeployment
from tests.support.tenant import ACTIVE, JSON_API

WORKSPACES = 64
TEAMS = 100
LONG = 500

_TOKENS = 10


@dataclass(frozen=True)
class Crowd:
    """Many workspaces, and a user who may write in all of them, with several tokens.

    `long` is the path of a list of `LONG` variables. The teams, each with a token, may write in it
    and in one workspace of their own, whose number is theirs.
    """

    workspaces: Sequence[str]
    tokens: Sequence[str]
    team_tokens: Sequence[str]
    long: str

    @property
    def token(self) -> str:
        """One of the user's."""
        return self.tokens[0]


async def crowd(served: ServedDeployment) -> Crowd:
    """Makes one."""
    mark = secrets.token_hex(6)
    name, username = f"crowd-{mark}", f"foreman-{mark}"
    sites = [f"site-{n:02}" for n in range(WORKSPACES)]
    teams = [f"team-{n:02}" for n in range(TEAMS)]
    organization = OrganizationEntry(
        name,
        {username: ACTIVE},
        (*sites, "long"),
        (
            TeamEntry("owners", members=(username,)),
            *(
                TeamEntry(team, workspaces=dict.fromkeys((site, "long"), AccessType.WRITE))
                for team, site in zip(teams, sites * 2, strict=False)
            ),
        ),
    )
    directory = Directory((UserEntry(username, f"{username}@example.com"),), (organization,))
    applied = await served.services.directory.apply(operator(), directory, Options())
    ids = applied.organizations[name].workspaces
    users = [OwnerName(user=username)] * _TOKENS
    owners = [*users, *(OwnerName(organization=name, team=team) for team in teams)]
    made = await asyncio.gather(*(_token(served, owner) for owner in owners))
    tokens, team_tokens = made[:_TOKENS], made[_TOKENS:]
    await _fill(served, ids["long"], tokens[0])
    long = f"/api/v2/workspaces/{ids['long']}/vars"
    return Crowd([ids[site] for site in sites], tokens, team_tokens, long)


async def _token(served: ServedDeployment, owner: OwnerName) -> str:
    return (await served.services.tokens.create(operator(), owner, None)).secret


async def _fill(served: ServedDeployment, workspace: str, token: str) -> None:
    items = [
        {"type": "vars", "attributes": {"key": f"key_{n:03}", "category": "env", "value": "x" * 20}}
        for n in range(LONG)
    ]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON_API}
    path = f"/workspaces/{workspace}/actions/apply"
    answer = await served.client.post(path, json={"data": items}, headers=headers)
    assert answer.status_code == 200, answer.text
