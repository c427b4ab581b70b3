"""Bodies that never come to their end."""

import asyncio
import random
from functools import partial

from teamvars.web.http.request import MAX_BODY_BYTES
from tests.faults.hostile.attack import BOTH, GAVE_UP, REFUSED, STRANGER, UNKNOWN, Attack
from tests.faults.hostile.target import Target, forged
from tests.faults.hostile.wire import PATIENCE, Answer, ask, repeat, together

CONNECTIONS = 150
_HELD_BACK = 1024
_MOST_PAUSE = 0.4
_TRICKLED = [b" " * 1024] * 100


async def unfinished(
    token: str | None, patience: float | None, target: Target, seconds: float
) -> list[Answer]:
    """Each sends all of a body but its end, again and again."""
    body = b" " * (MAX_BODY_BYTES - _HELD_BACK)
    sent = target.request("POST", target.vars, token, body, MAX_BODY_BYTES)

    async def once() -> Answer:
        await asyncio.sleep(random.uniform(0, _MOST_PAUSE))
        return await ask(target.port, sent, patience=patience or seconds)

    return await together(CONNECTIONS, lambda: repeat(seconds, once))


async def trickled(target: Target, seconds: float) -> list[Answer]:
    """Each sends 64 KiB of a body, and then a little at a time, again and again."""
    head = target.request("POST", target.vars, forged(), b" " * 65_536, MAX_BODY_BYTES)

    async def once() -> Answer:
        await asyncio.sleep(random.uniform(0, _MOST_PAUSE))
        return await ask(target.port, head, *_TRICKLED, pause=0.1, patience=PATIENCE)

    return await together(CONNECTIONS, lambda: repeat(seconds, once))


async def of_strangers(target: Target, seconds: float) -> list[Answer]:
    """Each must learn soon that nobody has its token."""
    return await unfinished(forged(), PATIENCE, target, seconds)


async def of_a_caller(target: Target, seconds: float) -> list[Answer]:
    """They are given up with the attack: a caller's body has 30 seconds to arrive."""
    return await unfinished(target.owner, None, target, seconds)


# 150 connections that come again soon after they were answered: a flood, of requests and of bytes.
ATTACKS = [
    Attack(
        "150 unfinished bodies, no token",
        partial(unfinished, None, PATIENCE),
        STRANGER,
        UNKNOWN,
        flood=True,
    ),
    Attack(
        "150 unfinished bodies, forged token",
        of_strangers,
        STRANGER,
        UNKNOWN,
        flood=True,
        engines=BOTH,
    ),
    Attack("150 trickled bodies, forged token", trickled, STRANGER, UNKNOWN, flood=True),
    Attack(
        "150 unfinished bodies, valid token",
        of_a_caller,
        REFUSED | GAVE_UP,
        flood=True,
        engines=BOTH,
    ),
]
