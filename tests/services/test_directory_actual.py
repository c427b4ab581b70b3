"""What a directory file looks up and locks before anything of it is decided."""

from collections.abc import Collection, Iterable

import pytest

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry, UserEntry
from teamvars.domain.memberships import Status
from teamvars.domain.variable_sets import SetDraft
from teamvars.services.directory_files import actual
from teamvars.services.directory_files.actual import Changing
from teamvars.services.directory_files.changeset import Changeset, Overtaken
from teamvars.services.directory_files.files import Options
from teamvars.storage import organizations
from teamvars.storage.database import Transaction
from tests.services.calls import Calls, caller
from tests.support.deployment import operator
from tests.support.engines import ON_SQLITE
from tests.web.test_authorization import access_document

pytestmark = ON_SQLITE


@pytest.mark.parametrize(
    ("changing", "names"),
    [
        (Changing(), []),
        (Changing({"network"}, ()), ["network"]),
        (Changing((), {"own", "new"}), ["own"]),
        (Changing(None, None), ["network", "payments", "other", "own"]),
    ],
)
async def test_only_what_may_change_is_looked_for(
    calls: Calls, changing: Changing, names: Collection[str]
) -> None:
    tenant, ids = calls.tenant, dict(calls.tenant.workspaces)
    for name in ("own", "other"):
        place = caller(tenant, "owner"), tenant.organization
        made = await calls.services.variable_sets.create(*place, SetDraft(name=name))
        ids[name] = made.set.id

    async def body(tx: Transaction) -> list[str]:
        found = await organizations.find_all(tx, [tenant.organization])
        return [*await actual._changed(tx, {one.id for one in found.values()}, changing)]

    assert sorted(await calls.services.database.read(body)) == sorted(ids[name] for name in names)


async def test_a_name_that_is_anothers_once_it_is_locked_has_been_overtaken(calls: Calls) -> None:
    tenant, database = calls.tenant, calls.services.database
    name, other = tenant.organization, tenant.other_organization
    directory = Directory(organizations=(OrganizationEntry(name),))
    ids = {one.name: one.id for one in (await database.read(organizations.every)).values()}
    locked: list[str] = []

    async def find(tx: Transaction, *, swaps: bool) -> list[str]:
        async def lock(some: Iterable[str]) -> None:
            """Waits for whoever gives the names to others first."""
            if swaps and not locked:
                sql = "UPDATE organizations SET name = $2, name_folded = $2 WHERE id = $1"
                for id_, called in ((ids[name], "gone"), (ids[other], name)):
                    await tx.execute(sql, id_, called)
            locked.extend(some)

        _, loaded = await actual.find(tx, directory, Changeset(0), lock, prune=False)
        return [state.id for state in loaded.values()]

    assert await database.write(lambda tx: find(tx, swaps=False)) == [ids[name]]
    assert locked[0] == ids[name]
    locked.clear()
    with pytest.raises(Overtaken):
        await database.write(lambda tx: find(tx, swaps=True))
    assert locked == [ids[name]]


async def test_users_are_found_by_name_and_address_and_active_members_are_known(
    calls: Calls,
) -> None:
    ann, known, waits = calls.named("owner", "writer", "reader")
    email = f"{calls.named('plain')[0]}@example.com"
    sql = "UPDATE users SET placeholder = 1, email = NULL, email_folded = NULL WHERE username = $1"
    members = {known: Status.ACTIVE, waits: Status.INVITED, "nobody": Status.ACTIVE}
    said = UserEntry(ann, email), UserEntry("somebody-new")
    directory = Directory(said, (OrganizationEntry("acme", members=members),))

    changeset = Changeset(0)

    async def body(tx: Transaction) -> list[bool | None]:
        for name in (known, waits):
            await tx.execute(sql, name)
        people = await actual._people(tx, directory, changeset)
        found = (people.named(name) for name in (ann, known, waits, "nobody"))
        return [None if one is None else one.placeholder for one in found]

    assert await calls.services.database.write(body) == [False, False, True, None]
    (fault,) = changeset.faults
    assert "address" in fault.detail


async def test_what_was_deleted_by_hand_is_left_out_of_a_directory(calls: Calls) -> None:
    """Whatever deletes rows with SQLite's own program leaves those that refer to them."""
    tenant, services = calls.tenant, calls.services
    name, writers = tenant.organization, tenant.teams["writers"]
    document = {"data": {"type": "projects", "attributes": {"name": "gone"}}}
    made = await tenant.call("owner", "POST", f"/organizations/{name}/projects", document)
    project = made.json()["data"]["id"]
    given = await tenant.call(
        "owner", "POST", "/team-projects", access_document(writers, project, "project")
    )
    assert given.status_code == 201
    for table, id_ in (
        ("workspaces", tenant.workspaces["network"]),
        ("projects", project),
        ("users", tenant.users["invited_writer"]),
    ):
        await tenant.deployment.alter(f"DELETE FROM {table} WHERE id = '{id_}'")  # noqa: S608
    (organization,) = (await services.directory.export([name])).directory.organizations
    (team,) = (one for one in organization.teams if one.name == "writers")
    assert (team.workspaces, team.projects) == ({}, {})
    assert len(team.members or ()) == 1
    nothing = TeamEntry("writers", members=(), workspaces={}, projects={})
    file = Directory((), (OrganizationEntry(name, teams=(nothing,)),))
    await services.directory.apply(operator(), file, Options())
