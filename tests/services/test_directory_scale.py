"""`directory apply` of large files: few statements, and nobody elsewhere waits for it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from teamvars.domain.directory import (
    Directory,
    Grant,
    OrganizationEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.teams import Status
from teamvars.services.tokens import OwnerName
from teamvars.storage import streams
from teamvars.storage.database import Body, Transaction
from tests.house import open_house, operator
from tests.postgres import Postgres
from tests.services.people import AS_WRITTEN, Desk, caller
from tests.storage.noting import NotingTransaction
from tests.storage.stores import fresh_postgres
from tests.world import build_world


def large(people: int, organization: str = "") -> Directory:
    """A file of one organization with that many users, and a tenth as many teams and workspaces."""
    mark = uuid4().hex
    names = [f"u{n}-{mark}" for n in range(people)]
    spaces = tuple(f"w{n}" for n in range(people // 10))
    teams = [
        TeamEntry(f"t{n}", members=tuple(names[n * 10 : n * 10 + 10]), workspaces={w: Grant.WRITE})
        for n, w in enumerate(spaces)
    ]
    if organization:
        teams.append(TeamEntry("crew", members=tuple(names[:1])))
    entry = OrganizationEntry(
        organization or f"large-{mark}", dict.fromkeys(names, Status.ACTIVE), spaces, tuple(teams)
    )
    return Directory(tuple(UserEntry(name, f"{name}@example.com") for name in names), (entry,))


async def test_a_file_costs_as_many_statements_however_long_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, counted = desk.services.database, Counter[int]()
    write = database.write

    async def noting(body: Body[Any]) -> Any:
        async def watched(tx: Transaction) -> Any:
            def note(*_: object) -> None:
                counted[number] += 1

            return await body(NotingTransaction(tx, note))

        return await write(watched)

    monkeypatch.setattr(database, "write", noting)
    for number in (10, 300):
        directory = large(number)
        await desk.services.directory.apply(operator(), directory, AS_WRITTEN)
        again = await desk.services.directory.apply(operator(), directory, AS_WRITTEN)
        assert again.changes == ()
    assert counted[10] == counted[300] < 60
    assert await desk.world.house.audit_holds()


async def test_a_file_that_waits_holds_up_nobody_of_another_organization(
    postgres: Postgres,
) -> None:
    """It waits for a team it names. Invitations and tokens elsewhere need the system's stream."""
    with fresh_postgres(postgres) as url:
        async with open_house(url) as house, open_house(url, keys=house.keys) as node:
            desk = Desk(await build_world(house), node)
            locked, done = asyncio.Event(), asyncio.Event()

            async def holding(tx: Transaction) -> None:
                await streams.lock(tx, [desk.world.teams["crew"]])
                locked.set()
                await done.wait()

            holder = asyncio.ensure_future(node.services.database.write(holding))
            await locked.wait()
            directory = large(20, desk.world.organization)
            applying = asyncio.ensure_future(
                house.services.directory.apply(operator(), directory, AS_WRITTEN)
            )
            await _until_somebody_waits(node.services.database.read)
            outsider, email = caller(desk.world, "outsider"), f"{uuid4().hex}@example.com"
            elsewhere = outsider, desk.world.other_organization, InvitationDraft(email)
            await node.services.memberships.invite(*elsewhere)
            (admin,) = desk.named("admin")
            await node.services.tokens.create(operator(), OwnerName(user=admin), None)
            assert not applying.done()
            done.set()
            await holder
            assert len((await applying).changes) > 40
            assert await house.audit_holds()


async def _until_somebody_waits(read: Any) -> None:
    async def waiting(tx: Transaction) -> Sequence[object]:
        return await tx.fetch("SELECT 1 FROM pg_locks WHERE NOT granted")

    async with asyncio.timeout(30):
        while not await read(waiting):  # noqa: ASYNC110 - the server knows
            await asyncio.sleep(0.01)
