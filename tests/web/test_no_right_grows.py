"""No right grows by itself (contract §6), through every layer: walks of calls by every kind of
holder, and after each what everybody may do, as it is stored.
"""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from teamvars.domain.memberships import LinkageType
from teamvars.domain.teams import Right, Visibility
from teamvars.storage import memberships, organizations, team_access, teams
from teamvars.storage.database import Transaction
from teamvars.storage.projects import PROJECT_OF
from tests.support.powers import Place, Power, gains
from tests.support.tenant import Tenant, linkage_document
from tests.web.test_organization_access import give
from tests.web.test_project_grants import access_document as project_access_document
from tests.web.test_projects import make, moved, related
from tests.web.test_team_workspaces import access_document

CALLERS = ("owner", "manager", "plain", "reader", "writer", "hidden", "writers-token")
STEPS = 120


async def place_of(tenant: Tenant) -> Place:
    """The teams, grants, members and tokens that are stored, and where workspaces are."""

    async def body(tx: Transaction) -> Place:
        (found,) = (await organizations.find_all(tx, [tenant.organization])).values()
        its = {team.id: team for team in await teams.of_organizations(tx, [found.id])}
        users = await memberships.ids_of_teams(tx, its, LinkageType.USERS)
        places = await tx.fetch(
            f"SELECT id, {PROJECT_OF} FROM workspaces WHERE organization_id = $1",  # noqa: S608
            found.id,
        )
        tokens = await tx.fetch("SELECT id, team_id FROM tokens WHERE team_id IS NOT NULL")
        return Place(
            its,
            {grant.id: grant for grant in await team_access.ON_WORKSPACES.of_teams(tx, its)},
            {id_: {*inside} for id_, inside in users.items()},
            {id_: team for id_, team in tokens if team in its},
            {grant.id: grant for grant in await team_access.ON_PROJECTS.of_teams(tx, its)},
            dict(map(tuple, places)),
        )

    return await tenant.deployment.services.database.read(body)


def power_of(place: Place, tenant: Tenant, who: str) -> Power:
    if who == "writers-token":
        return place.of_teams({tenant.teams["writers"]} & place.teams.keys())
    return place.of_teams(place.teams_of(tenant.users[who]))


async def step(
    tenant: Tenant, place: Place, projects: Sequence[str], who: str, chance: random.Random
) -> str:
    """Asks for one thing by chance; says what."""
    by_name = {team.name: team.id for team in place.teams.values()}
    team = by_name[chance.choice(sorted(by_name))]
    space = tenant.workspaces[chance.choice(sorted(tenant.workspaces))]
    person = chance.choice([tenant.users[name] for name in CALLERS[1:6]])
    right, seen = chance.choice([*Right]), chance.choice([*Visibility])
    its, some = f"/teams/{team}", {right.value: chance.random() < 0.7}
    attributes: dict[str, Any] = {"visibility": seen.value}
    if chance.random() < 0.5:
        attributes["organization-access"] = some
    said = {"data": {"type": "teams", "attributes": attributes}}
    named = {
        "data": {"type": "teams", "attributes": {**attributes, "name": f"new-{chance.random()}"}}
    }
    access = chance.choice(["read", "write"])
    granted = access_document(team, space, access=access)
    project = chance.choice(sorted(projects))
    into = f"/projects/{project}/relationships/workspaces"
    word = chance.choice([access, "admin"])
    of_project = project_access_document(team, project, access=word)
    asked = [
        *[("POST", into, moved(space))] * 2,
        ("PATCH", f"/workspaces/{space}", related(project)),
        ("POST", "/team-projects", of_project),
        ("DELETE", f"/projects/{project}", None),
        *[("POST", f"{its}/relationships/users", linkage_document(person))] * 3,
        ("DELETE", f"{its}/relationships/users", linkage_document(person)),
        ("POST", f"{its}/authentication-token", None),
        ("PATCH", its, said),
        ("POST", f"/organizations/{tenant.organization}/teams", named),
        ("DELETE", its, None),
        ("POST", "/team-workspaces", granted),
    ]
    method, path, document = chance.choice(asked)
    answer = await tenant.call(who, method, path, document)
    assert answer.status_code < 500
    return f"{who}: {method} {path} {document} -> {answer.status_code}"


@pytest.mark.parametrize("seed", range(3))
async def test_nobody_gains_what_the_one_who_gave_it_did_not_have(
    tenant: Tenant, seed: int
) -> None:
    chance = random.Random(seed)
    visible = {"visibility": "organization"}
    for who, *rights in (
        ("plain", "manage-teams"),
        ("plain", "read-workspaces"),
        ("reader", "manage-organization-access", "access-secret-teams"),
        ("hidden", "manage-workspaces"),
        ("hidden", "manage-projects"),
        ("writer", "read-projects"),
    ):
        await give(tenant, who, *rights, name=f"given-{rights[0]}", **visible)
    projects = [tenant.project, await make(tenant, "shop"), await make(tenant, "store")]
    for team, project in (("readers", projects[1]), ("writers", projects[2])):
        given = project_access_document(tenant.teams[team], project, access="write")
        assert (await tenant.call("owner", "POST", "/team-projects", given)).status_code == 201
    done = 0
    for _ in range(STEPS):
        place = await place_of(tenant)
        # Owners may do everything; they are asked seldom, for what there is to give then.
        who = "owner" if chance.random() < 0.1 else chance.choice(CALLERS[1:])
        told = await step(tenant, place, projects, who, chance)
        after, maker = await place_of(tenant), power_of(place, tenant, who)
        assert not gains(place.powers(), after.powers(), maker), told
        for token in after.tokens.keys() - place.tokens.keys():
            assert not after.of_teams([after.tokens[token]]).beyond(maker), told
        done += told.endswith(("200", "201", "204"))
    assert done > 3, "the walk went nowhere"
    assert await tenant.deployment.audit_holds()
