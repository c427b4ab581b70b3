"""Requests without a right, as many as 64 connections can ask one after another."""

import time
from collections.abc import Callable

from teamvars.domain.ids import new_id
from tests.faults.hostile.attack import BOTH, STRANGER, UNKNOWN, Attack
from tests.faults.hostile.target import Target, forged
from tests.faults.hostile.wire import CLOSED, Answer, Connection, together

CONNECTIONS = 64


async def flood(target: Target, seconds: float, request: Callable[[], bytes]) -> list[Answer]:
    """Each connection has always a request under way, and one at least however slow the host is."""
    end = time.monotonic() + seconds

    async def one() -> list[Answer]:
        answers: list[Answer] = []
        while not answers or time.monotonic() < end:
            try:
                async with Connection(target.port) as connection:
                    while not answers or time.monotonic() < end:
                        answers.append(await connection.ask(request()))
                        if answers[-1].status <= CLOSED:
                            break
            except ConnectionError:
                answers.append(Answer(CLOSED))
        return answers

    return await together(CONNECTIONS, one)


async def forged_deletes(target: Target, seconds: float) -> list[Answer]:
    """Of a variable that there is, by nobody."""
    return await flood(target, seconds, lambda: target.request("DELETE", target.variable, forged()))


async def deletes_of_nothing(target: Target, seconds: float) -> list[Answer]:
    """Each of another workspace, none of which there is."""

    def request() -> bytes:
        path = f"/api/v2/workspaces/{new_id('ws')}/vars/{new_id('var')}"
        return target.request("DELETE", path, forged())

    return await flood(target, seconds, request)


async def foreign_deletes(target: Target, seconds: float) -> list[Answer]:
    """Of a variable that there is, by another organization."""
    sent = target.request("DELETE", target.variable, target.foreigner)
    return await flood(target, seconds, lambda: sent)


async def readiness(target: Target, seconds: float) -> list[Answer]:
    """What a load balancer asks for."""
    sent = target.request("GET", "/readyz", None)
    return await flood(target, seconds, lambda: sent)


_NOT_FOUND = frozenset({404})

ATTACKS = [
    Attack(name, run, allowed, needed, flood=True, engines=BOTH)
    for name, run, allowed, needed in (
        ("deletes, forged tokens", forged_deletes, STRANGER, UNKNOWN),
        ("deletes of nothing, forged tokens", deletes_of_nothing, STRANGER, UNKNOWN),
        ("deletes, token of others", foreign_deletes, frozenset({404, 429, 503}), _NOT_FOUND),
        ("readiness", readiness, frozenset({200, 503}), frozenset({200})),
    )
]
