"""Changes: whatever was decided is looked up, carried out and recorded here, and nowhere else.

This is how the needs of decisions are looked up, and what changes are made with.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import astuple

from teamvars.decisions import Found, Need
from teamvars.domain.errors import Refusal
from teamvars.domain.times import Clock
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.storage.database import Lookup, Row, Transaction


class Tools(msgspec.Struct, frozen=True):
    """The seals of values, the chain of the trail, and the time, whatever a change is about."""

    sealer: Sealer
    chain: Chain
    clock: Clock


class Look(msgspec.Struct, frozen=True):
    """By a lookup: needs of many requests are one statement.

    `ask` is the lookup of a need and its parameters, `read` makes the answer of the rows, or
    refuses. `locks`: the answer is an access, or None where there is nothing, and whoever may
    change the subject has its stream locked.
    """

    ask: Callable[[Found, Any], tuple[Lookup, tuple[object, ...]]]
    read: Callable[[Found, Any, Sequence[Row]], Any]
    locks: bool = False


Ask = Callable[[Transaction, Tools, Found, Any], Awaitable[Any]]
"""Answers a need of one request by itself. Refuses as the look-up does."""

LookUp = Look | Ask
LookUps = dict[type[Need[Any]], LookUp]


async def answered(
    look: LookUp, tx: Transaction, tools: Tools, found: Found, need: Need[Any]
) -> Any:
    """The answer for one request, with nothing locked, or the refusal that it ends with."""
    try:
        if not isinstance(look, Look):
            return await look(tx, tools, found, need)
        lookup, args = look.ask(found, need)
        (rows,) = await tx.look_up_each(lookup, [args])
        return look.read(found, need, rows)
    except Refusal as refusal:
        return refusal


def by_fields(look: Callable[..., Awaitable[Any]]) -> Ask:
    """Answers by what is given the fields of the need."""
    return lambda tx, _, __, need: look(tx, *astuple(need))
