"""Whose requests count together: addresses, teams that were shown nothing, and organizations."""

import asyncio
from collections.abc import Callable

import pytest

from teamvars import fair_slots
from teamvars.domain.access import Caller
from teamvars.domain.audit import Actor
from teamvars.fair_slots import (
    LONE_SLOTS,
    ORGANIZATION_SHARE,
    PRINCIPAL_SHARE,
    FairSlots,
    Party,
)
from teamvars.security.tokens import hash_token
from teamvars.time_limits import TimeLimits
from teamvars.web.http.admission import Principals


class Worker:
    """The slots of a worker, and whose requests it has."""

    def __init__(self) -> None:
        self.slots = FairSlots(TimeLimits())
        self.principals = Principals(self.slots)

    def team(self, name: str, organization_id: str | None = None) -> Party:
        """A team whose token was let in, and shown something of an organization or nothing."""
        actor = Actor("team", f"team-{name}", f"at-{name}")
        caller = Caller(hash_token(name), "r", actor, None, organization_id)
        return self.principals.note(caller)

    def given(self, party: Party, requests: int) -> int:
        """How many of so many requests are given a slot at once."""
        return sum(self.slots.enter(party) for _ in range(requests))


def stranger(worker: Worker, number: int) -> Party:
    """Whoever is at one of many addresses."""
    return worker.principals.stranger(f"2001:db8:0:{number:x}::/64")


def shown_nothing(worker: Worker, number: int) -> Party:
    """One of many teams, each of which asks for what it may not see."""
    return worker.team(f"curious-{number}")


@pytest.mark.parametrize("party_of", [stranger, shown_nothing])
def test_a_flood_from_many_of_whom_no_organization_is_known_has_half_of_the_slots(
    party_of: Callable[[Worker, int], Party],
) -> None:
    worker = Worker()
    neighbour = worker.team("neighbour", "org-1")
    assert worker.given(neighbour, 1) == 1
    crowd = [party_of(worker, number) for number in range(100)]
    assert sum(worker.given(party, PRINCIPAL_SHARE) for party in crowd) == ORGANIZATION_SHARE
    assert worker.given(neighbour, 2 * PRINCIPAL_SHARE) == PRINCIPAL_SHARE - 1


def test_strangers_take_nothing_from_those_who_have_a_token() -> None:
    worker = Worker()
    new = worker.team("new")
    assert worker.given(new, 1) == 1
    crowd = [stranger(worker, number) for number in range(100)]
    assert sum(worker.given(party, PRINCIPAL_SHARE) for party in crowd) == ORGANIZATION_SHARE
    assert worker.given(new, 2 * PRINCIPAL_SHARE) == PRINCIPAL_SHARE - 1


def test_who_is_shown_something_counts_to_that_organization_from_then_on() -> None:
    worker = Worker()
    curious, mates = worker.team("t"), [worker.team(f"mate-{n}", "org-1") for n in range(2)]
    assert [worker.given(mate, PRINCIPAL_SHARE) for mate in mates] == [PRINCIPAL_SHARE] * 2
    assert worker.given(curious, 1) == 1
    assert worker.team("t", "org-1") is curious
    assert worker.given(curious, 1) == 0


async def test_a_valid_token_waits_behind_thousands_that_are_guessed_at_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "WAIT_SECONDS", 60.0)
    worker = Worker()
    address = stranger(worker, 0)
    worker.given(address, 2 * LONE_SLOTS)
    guesses = [asyncio.create_task(worker.slots.wait(address)) for _ in range(3000)]
    await asyncio.sleep(0)
    valid = asyncio.create_task(worker.slots.wait(address))
    await asyncio.sleep(0)
    while not valid.done():
        worker.slots.leave(address)
        await asyncio.sleep(0)
    await asyncio.gather(valid, *guesses)
