"""Room for bodies and answers: each has a share that takes nothing from another's."""

import asyncio
from contextlib import ExitStack

import pytest

from teamvars.domain.errors import Refusal
from teamvars.fair_slots import Principal
from teamvars.time_limits import TimeLimit, TimeLimits
from teamvars.web.http import request as requests
from teamvars.web.http import sending
from teamvars.web.http.request import Bodies
from teamvars.web.http.sending import Responses

ALICE: Principal = ("user", "alice")
MIB = 1024 * 1024


def code_of(refusal: Refusal) -> str:
    (fault,) = refusal.faults
    return fault.code.word


def fill(bodies: Bodies, callers: int, each: int = requests.CALLER_BODY_BYTES) -> None:
    for number in range(callers):
        bodies.admit(("user", str(number)), each)


def test_strangers_share_what_is_theirs_and_take_nothing_from_callers() -> None:
    bodies = Bodies()
    size = requests.UNAUTHENTICATED_BODY_BYTES
    admitted = 0
    while bodies.admit_unauthenticated(size) is not None:
        admitted += 1
    assert admitted * size == requests.UNAUTHENTICATED_BODIES_BYTES
    fill(bodies, requests.WORKER_BODY_BYTES // requests.CALLER_BODY_BYTES)


def test_a_stranger_has_no_room_for_a_long_body_however_few_there_are() -> None:
    assert Bodies().admit_unauthenticated(requests.UNAUTHENTICATED_BODY_BYTES + 1) is None


def test_a_caller_with_too_much_under_way_is_refused_alone() -> None:
    bodies = Bodies()
    release = bodies.admit(ALICE, requests.CALLER_BODY_BYTES)
    with pytest.raises(Refusal) as refused:
        bodies.admit(ALICE, 1)
    assert code_of(refused.value) == "too_many_requests"
    bodies.admit(("team", "alice"), 1)
    release()
    bodies.admit(ALICE, requests.CALLER_BODY_BYTES)


def test_a_worker_with_too_much_under_way_refuses_every_caller_and_not_strangers() -> None:
    bodies = Bodies()
    fill(bodies, requests.WORKER_BODY_BYTES // requests.CALLER_BODY_BYTES)
    with pytest.raises(Refusal) as refused:
        bodies.admit(ALICE, 1)
    assert code_of(refused.value) == "busy"
    assert bodies.admit_unauthenticated(1) is not None


async def test_the_first_answer_of_a_caller_has_room_whatever_its_size_and_the_next_has_not() -> (
    None
):
    answers, limits = Responses(), TimeLimits()
    first, second = object(), object()
    with ExitStack() as sending, TimeLimit(limits, 30) as limit:
        sending.enter_context(answers.sending(ALICE, first, 95 * MIB, limit))
        with pytest.raises(Refusal) as refused, answers.sending(ALICE, second, 1, limit):
            pass
        assert code_of(refused.value) == "too_many_requests"
        with pytest.raises(Refusal) as refused:
            sending.enter_context(answers.sending(("user", "bob"), second, 2 * MIB, limit))
        assert code_of(refused.value) == "busy"
        sending.enter_context(answers.sending(("user", "bob"), second, MIB, limit))
    with TimeLimit(limits, 30) as limit, answers.sending(ALICE, second, 95 * MIB, limit):
        pass


async def test_an_answer_that_is_sent_to_several_counts_once() -> None:
    answers, limits, body = Responses(), TimeLimits(), object()
    with ExitStack() as sending, TimeLimit(limits, 30) as limit:
        for number in range(20):
            caller = ("user", str(number))
            sending.enter_context(answers.sending(caller, body, 95 * MIB, limit))


async def test_where_room_is_short_the_answer_that_takes_longest_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sending, "SLOW_SECONDS", 0.0)
    answers, limits = Responses(), TimeLimits()

    async def never_read() -> None:
        with TimeLimit(limits, 30) as limit, answers.sending(ALICE, "slow", 95 * MIB, limit):
            await asyncio.Event().wait()

    slow = asyncio.create_task(never_read())
    await asyncio.sleep(0.01)
    with (
        TimeLimit(limits, 30) as limit,
        answers.sending(("user", "bob"), "new", 95 * MIB, limit),
        pytest.raises(TimeoutError),
    ):
        await slow
