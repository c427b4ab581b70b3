"""Changes to the members of teams that are made at the same time, each with its own outcome."""

import asyncio
from typing import Any

from teamvars.storage.database import Transaction
from tests.services.calls import Calls, caller, count
from tests.storage.stores import words
from tests.support.engines import ON_POSTGRES

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
