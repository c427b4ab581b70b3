"""Changes to the members of teams that are made at the same time, each with its own outcome."""

import asyncio
from collections.abc import Sequence
from typing import Any

from teamvars.domain.directory import TeamEntry
from teamvars.domain.memberships import LinkageType
from teamvars.storage import memberships
from teamvars.storage.database import Row, Transaction
from tests.services.calls import Calls, caller, count
from tests.storage.stores import words
from tests.support.engines import ON_POSTGRES
from tests.support.observed_transaction import ObservedTransaction

TEAMS = ("writers", "readers", "managers", "crew")


async def transactions(calls: Calls) -> set[str]:
    """Those that changed the teams last."""

    async def body(tx: Transaction) -> set[str]:
        ids = [calls.tenant.teams[name] for name in TEAMS]
        found = "SELECT CAST(xmin AS TEXT) FROM streams WHERE id = $1"
        rows = [await tx.fetch_one(found, id_) for id_ in ids]
        return {row[0] for row in rows if row is not None}

    return await calls.services.database.read(body)


async def actions(calls: Calls, team: str = "crew") -> list[str]:
    """What was done to a team, oldest first."""

    async def body(tx: Transaction) -> list[str]:
        asked = "SELECT action FROM audit_entries WHERE stream_id = $1 ORDER BY sequence"
        return [row[0] for row in await tx.fetch(asked, calls.tenant.teams[team])]

    return await calls.services.database.read(body)


async def in_team(calls: Calls, person: str, team: str = "crew") -> bool:
    """Whether they are, by the table."""
    asked = "SELECT count(*) FROM team_members WHERE team_id = $1 AND membership_id = $2"
    ids = calls.tenant.teams[team], calls.tenant.memberships[person]
    return bool(await count(calls.services.database, asked, *ids))


@ON_POSTGRES
async def test_changes_of_several_teams_share_a_transaction(calls: Calls) -> None:
    for change in ("add", "remove"):
        changing: Any = (calls.change(change, "plain", "hidden", team=team) for team in TEAMS)
        await asyncio.gather(*changing)
        assert len(await transactions(calls)) == 1
    assert await calls.tenant.deployment.audit_holds()


async def test_who_is_refused_is_so_alone(calls: Calls) -> None:
    outcomes = await asyncio.gather(
        calls.change("add", "plain", "hidden"),
        calls.change("add", "plain", team="owners", who="manager"),
        calls.change("remove", "owner", team="owners"),
        calls.change("add", "plain", team="readers", who="outsider"),
        calls.change("add", "plain", team="writers", who="manager"),
        calls.change("remove", "hidden"),
        return_exceptions=True,
    )
    refused = ["forbidden", "last_owner", "not_found"]
    assert words(*outcomes) == ["done", *refused, "done", "done"]
    assert await in_team(calls, "plain")
    assert await in_team(calls, "plain", "writers")
    assert not await in_team(calls, "hidden")
    assert not await in_team(calls, "plain", "readers")
    assert await calls.tenant.deployment.audit_holds()


async def test_who_leaves_the_organization_meanwhile_is_added_first_or_not_at_all(
    both_nodes: tuple[Calls, Calls],
) -> None:
    one, other = both_nodes
    people = ("plain", "hidden", "reader", "writer")
    for person in people:
        membership = one.tenant.memberships[person]
        owner = caller(one.tenant, "owner")
        added, _ = await asyncio.gather(
            one.change("add", person),
            other.services.memberships.remove(owner, membership),
            return_exceptions=True,
        )
        assert not await in_team(one, person)
        done = await actions(one)
        assert done.count("member.add") == done.count("member.remove")
        assert words(added)[0] in ("done", "not_found")
    assert await one.tenant.deployment.audit_holds()


async def test_many_changes_of_one_team_all_happen_and_each_is_recorded(
    both_nodes: tuple[Calls, Calls],
) -> None:
    people = ("plain", "hidden", "reader", "writer", "manager", "invited")
    for change in ("add", "remove"):
        await asyncio.gather(
            *(both_nodes[n % 2].change(change, person) for n, person in enumerate(people))
        )
        are_in = [await in_team(both_nodes[0], person) for person in people]
        assert are_in == [change == "add"] * len(people)
    assert (await actions(both_nodes[0])).count("member.remove") == len(people)
    assert await both_nodes[0].tenant.deployment.audit_holds()


class Counting(ObservedTransaction):
    """Counts rows that a node gets, in an iteration of its event loop."""

    def __init__(self, tx: Transaction) -> None:
        super().__init__(tx, lambda *_: None)
        self.rows = 0

    async def fetch(self, sql: str, *args: object) -> Sequence[Row]:
        found = await super().fetch(sql, *args)
        self.rows += len(found)
        return found


async def test_who_is_in_how_many_teams_takes_a_row_for_each_and_not_for_each_in_each(
    calls: Calls,
) -> None:
    people, names = ("owner", "plain", "reader"), [f"many-{n}" for n in range(9)]
    await calls.apply(*(TeamEntry(name, members=calls.named(*people)) for name in names))
    its = sorted(calls.tenant.memberships[person] for person in people)
    users = sorted(calls.tenant.users[person] for person in people)

    async def body(tx: Transaction) -> None:
        asked = "SELECT id FROM teams WHERE name LIKE 'many-%' ORDER BY id"
        teams = [id_ for (id_,) in await tx.fetch(asked)]
        counting = Counting(tx)
        by_users = await memberships.ids_of_teams(counting, teams, LinkageType.USERS)
        assert (by_users, counting.rows) == (dict.fromkeys(teams, users), len(teams))
        members = await memberships.of_teams(counting := Counting(tx), teams)
        assert [[one.id for one in each] for each in members.values()] == [its] * len(teams)
        assert counting.rows == len(teams) + len(people)
        found = members[teams[0]]
        whole = await memberships.with_teams(counting := Counting(tx), found, None)
        assert {team for one in whole for team in one.team_ids} >= set(teams)
        assert counting.rows == len(people)
        of = await memberships.team_ids_of(counting := Counting(tx), its)
        assert of == {one.id: tuple(one.team_ids) for one in whole}
        assert counting.rows == len(people)

    await calls.services.database.read(body)
