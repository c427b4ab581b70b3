"""Fair slots: shares while others wait, turns, and nothing that leaks or is forgotten."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamvars import fair_slots
from teamvars.domain.errors import Code, Refusal
from teamvars.fair_slots import (
    COMPANY_SECONDS,
    LONE_SLOTS,
    MOST_SLOTS,
    ORGANIZATION_SHARE,
    PRINCIPAL_SHARE,
    SLOTS,
    FairSlots,
    Group,
    Party,
)
from teamvars.time_limits import TimeLimits


class Worker:
    """The slots of a worker, by a clock of the test's own, and requests that hold them or wait."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.looks = 0
        self.slots = FairSlots(TimeLimits(), self.clock)
        self.working: list[Party] = []
        self.waiting: list[tuple[Party, asyncio.Task[None]]] = []

    def clock(self) -> float:
        """What time it is; counts how often that is asked."""
        self.looks += 1
        return self.now

    async def ask(self, party: Party) -> None:
        """A request of the party's."""
        if self.slots.enter(party):
            self.working.append(party)
        else:
            self.waiting.append((party, asyncio.create_task(self.slots.wait(party))))
            await self.settle()  # some may be let in: the party may be alone by now

    async def end(self, number: int) -> list[Party]:
        """One of the requests that are worked on ends. Returns whose were let in then."""
        self.slots.leave(self.working.pop(number % len(self.working)))
        return await self.settle()

    async def settle(self) -> list[Party]:
        """Lets those resume who were woken."""
        for _ in range(3):
            await asyncio.sleep(0)
        woken = [party for party, task in self.waiting if task.done() and not task.cancelled()]
        self.waiting = [(party, task) for party, task in self.waiting if not task.done()]
        self.working += woken
        return woken

    def held(self) -> Counter[Party]:
        return Counter(self.working)

    async def close(self) -> None:
        """Everything ends; then all slots are free, and nobody waits."""
        while self.working:
            await self.end(0)
        assert not self.waiting
        lone = Party(("user", "new"), Group())
        self.now += COMPANY_SECONDS
        self.slots.enter(lone)
        self.now += COMPANY_SECONDS
        for _ in range(LONE_SLOTS - 1):
            assert self.slots.enter(lone)
        assert not self.slots.enter(lone)


def parties(organizations: int, principals: int) -> list[Party]:
    groups = [Group(f"org-{n}") for n in range(organizations)]
    return [
        Party(("user", f"user-{number}-{n}"), group)
        for number, group in enumerate(groups)
        for n in range(principals)
    ]


async def filled(worker: Worker, party: Party, requests: int) -> None:
    """So many requests of one who is alone."""
    await worker.ask(party)
    worker.now += COMPANY_SECONDS
    for _ in range(requests - 1):
        await worker.ask(party)


async def test_who_is_alone_has_all_slots_and_others_find_one_at_once() -> None:
    worker, (flood, other) = Worker(), parties(2, 1)
    await filled(worker, flood, 3 * LONE_SLOTS)
    assert worker.held()[flood] == LONE_SLOTS
    await worker.ask(other)
    assert worker.held()[other] == 1
    await worker.close()


async def test_beside_jobs_one_is_as_alone_as_without_them_until_they_wait() -> None:
    worker, (writer, other), group = Worker(), parties(2, 1), Group()
    jobs = [Party(("job", str(n)), group, is_job=True) for n in range(2)]
    await filled(worker, writer, LONE_SLOTS // 2)
    for job in jobs:
        await worker.ask(job)
    while len(worker.working) < LONE_SLOTS:
        await worker.ask(writer)
    assert worker.held()[writer] == LONE_SLOTS - 2
    for _ in range(PRINCIPAL_SHARE):
        await worker.ask(jobs[0])
    assert worker.held()[jobs[0]] == PRINCIPAL_SHARE  # a job is never alone itself
    await worker.ask(writer)
    assert {party for party, _ in worker.waiting} == {jobs[0], writer}
    for _ in range(LONE_SLOTS):
        await worker.end(0)
    await worker.ask(other)
    assert not worker.waiting
    await worker.close()


async def test_who_comes_to_a_flood_pushes_it_back_to_its_share() -> None:
    worker, (flood, other) = Worker(), parties(2, 1)
    await filled(worker, flood, 5 * SLOTS)
    for _ in range(4 * SLOTS):
        await worker.ask(other)
        await worker.end(0)
    assert worker.held()[flood] <= PRINCIPAL_SHARE
    await worker.close()


async def test_an_organization_of_many_has_half_and_a_neighbour_does_not_wait() -> None:
    worker, (*teams, neighbour) = Worker(), [*parties(1, 100), *parties(1, 1)]
    await worker.ask(neighbour)
    for _ in range(3):
        for team in teams:
            await worker.ask(team)
    assert sum(worker.held().values()) == 1 + ORGANIZATION_SHARE
    for _ in range(PRINCIPAL_SHARE - 1):
        await worker.ask(neighbour)
    assert worker.held()[neighbour] == PRINCIPAL_SHARE
    await worker.close()


async def test_an_organization_that_is_alone_has_all_slots_and_each_of_it_a_share() -> None:
    worker, (*writers, reader) = Worker(), parties(1, 10)
    for writer in writers[:2]:
        for _ in range(PRINCIPAL_SHARE):
            await worker.ask(writer)
    assert len(worker.working) == ORGANIZATION_SHARE
    await worker.ask(writers[0])
    await worker.ask(reader)
    await worker.settle()
    assert worker.held()[reader] == 1
    for writer in writers:
        for _ in range(2 * PRINCIPAL_SHARE):
            await worker.ask(writer)
    await worker.settle()
    assert len(worker.working) == LONE_SLOTS
    assert max(worker.held().values()) == PRINCIPAL_SHARE
    await worker.close()


async def test_who_waits_is_let_in_before_who_comes_when_the_others_have_gone() -> None:
    worker, (*mates, first, second), (other,) = Worker(), *(parties(1, 4), parties(1, 1))
    await worker.ask(other)
    for mate in mates:
        for _ in range(PRINCIPAL_SHARE):
            await worker.ask(mate)
    await worker.ask(first)
    assert worker.held()[first] == 0
    worker.now += COMPANY_SECONDS
    await worker.ask(second)
    await worker.settle()
    assert worker.held()[first] == worker.held()[second] == 1
    await worker.close()


async def test_slots_that_are_held_for_long_are_kept_from_nobody_else() -> None:
    worker, (blocked, mate, neighbour) = Worker(), [*parties(1, 2), *parties(1, 1)]
    await filled(worker, blocked, 2 * LONE_SLOTS)
    await worker.ask(mate)
    await worker.ask(neighbour)
    assert worker.held() == {blocked: LONE_SLOTS, mate: 1, neighbour: 1}
    await worker.close()


async def test_organizations_take_turns_and_then_their_principals() -> None:
    worker, crowd = Worker(), parties(40, 4)
    for party in crowd:
        await worker.ask(party)
    assert len(worker.working) == MOST_SLOTS
    many, few = parties(1, 3), parties(1, 1)
    for party in [*many, *many, *few, *few]:
        await worker.ask(party)
    before = len(worker.waiting) - 8
    woken = [party for _ in range(before + 8) for party in await worker.end(0)]
    late = [party for party in woken if party in (*many, *few)]
    assert late == [many[0], few[0], many[1], few[0], many[2], *many]
    await worker.close()


async def test_who_is_next_is_known_as_soon_however_many_principals_wait() -> None:
    async def looks(many: int) -> int:
        worker = Worker()
        neighbour, *crowd = *parties(1, 1), *parties(1, many)
        for party in (neighbour, *crowd):
            await worker.ask(party)
        worker.looks = 0
        assert await worker.end(1) == [crowd[ORGANIZATION_SHARE]]
        looks = worker.looks
        await worker.close()
        return looks

    assert await looks(500) == await looks(2 * ORGANIZATION_SHARE)


async def test_a_principal_that_is_known_to_be_of_another_organization_takes_its_slots_along() -> (
    None
):
    worker, (party, other) = Worker(), parties(2, 1)
    for _ in range(2 * PRINCIPAL_SHARE):
        await worker.ask(other)
        await worker.ask(party)
    worker.slots.move(party, other.group)
    await worker.settle()
    assert other.group.held == 2 * PRINCIPAL_SHARE
    await worker.close()


async def test_there_is_an_end_to_how_many_wait_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "PRINCIPAL_WAITERS", 3)
    monkeypatch.setattr(fair_slots, "WAITERS", 4)
    monkeypatch.setattr(fair_slots, "WAIT_SECONDS", 0.05)
    worker, (flood, other) = Worker(), parties(1, 2)
    await filled(worker, flood, LONE_SLOTS + 3)
    for _ in range(PRINCIPAL_SHARE + 1):
        await worker.ask(other)
    assert [await refused(worker, party) for party in (flood, other)] == [
        Code.TOO_MANY_REQUESTS,
        Code.BUSY,
    ]
    refusals = await asyncio.gather(*(task for _, task in worker.waiting), return_exceptions=True)
    assert {str(refusal) for refusal in refusals} == {"busy"}
    worker.waiting.clear()
    await worker.close()


async def refused(worker: Worker, party: Party) -> Code:
    assert not worker.slots.enter(party)
    with pytest.raises(Refusal) as refusal:
        await worker.slots.wait(party)
    return refusal.value.faults[0].code


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "ask", "end", "leave", "pass"]), st.integers(0, 99)),
    min_size=50,
    max_size=400,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_the_law_holds_whoever_comes_and_goes(steps: list[tuple[str, int]]) -> None:
    asyncio.run(live(steps))


async def live(steps: list[tuple[str, int]]) -> None:
    worker, crowd = Worker(), parties(3, 3)
    crowd[-1].is_job = True
    for step, number in steps:
        given_to: list[Party] = []
        if step == "ask":
            worked = len(worker.working)
            await worker.ask(crowd[min(number, len(crowd) - 1)] if number < 60 else crowd[0])
            given_to = worker.working[worked:]
        elif step == "end" and worker.working:
            given_to = await worker.end(number)
        elif step == "leave" and worker.waiting:
            _, task = worker.waiting[number % len(worker.waiting)]
            task.cancel()
            await worker.settle()
        elif step == "pass":
            worker.now += number / 50
        for party in given_to:
            require_lawful(worker, party)
        require_busy(worker)
    await worker.close()


def require_lawful(worker: Worker, party: Party) -> None:
    """Who was just given a slot has no more than its share, if another still waits, and neither has
    its organization, if another's principal does."""
    held = worker.held()
    waiting = {waiting for waiting, _ in worker.waiting} - {party}
    if waiting:
        assert held[party] <= PRINCIPAL_SHARE
    if {one.group for one in waiting} - {party.group}:
        mates = (min(n, PRINCIPAL_SHARE) for one, n in held.items() if one.group is party.group)
        assert sum(mates) <= ORGANIZATION_SHARE


def require_busy(worker: Worker) -> None:
    """Nobody waits who could be given a slot."""
    held = worker.held()
    assert sum(held.values()) <= MOST_SLOTS
    if worker.waiting:
        assert sum(held.values()) >= ORGANIZATION_SHARE
    if sum(held.values()) < MOST_SLOTS:
        for party, _ in worker.waiting:
            assert held[party] >= PRINCIPAL_SHARE or party.group.held >= ORGANIZATION_SHARE
