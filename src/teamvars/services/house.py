"""What use cases have in common: a store, a time, and one way to decide by what is found."""

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from teamvars.changes.runner import Runner
from teamvars.changes.tools import Tools
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found
from teamvars.domain.access import Caller
from teamvars.domain.times import Clock
from teamvars.storage.database import Database

P = ParamSpec("P")
T = TypeVar("T")
UseCase = Callable[Concatenate["UseCases", Caller, P], Coroutine[Any, Any, T]]


class House(msgspec.Struct, frozen=True):
    """The store, the time by which requests are decided, what changes are made with, and what makes
    them.
    """

    database: Database
    clock: Clock
    tools: Tools
    runner: Runner


class UseCases:
    """Use cases of one noun."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._database = house.database
        self._clock = house.clock

    async def _make(
        self,
        caller: Caller,
        decide: Callable[Concatenate[Found, P], Decision[T]],
        *asked: P.args,
        **more: P.kwargs,
    ) -> T:
        return await makes(decide)(self, caller, *asked, **more)


def makes(
    decide: Callable[Concatenate[Found, P], Decision[T]], *, in_turns: bool = False
) -> UseCase[P, T]:
    """The use case that makes what is decided and returns the answer, in turns where it may change
    many rows. Refuses as is decided.
    """

    async def use_case(self: UseCases, caller: Caller, /, *asked: P.args, **more: P.kwargs) -> T:
        change = Change(caller, None, lambda found: decide(found, *asked, **more), in_turns)
        return await self._house.runner.make(change)

    return use_case


def looks(see: Callable[Concatenate[Found, P], T], *, at_a_glance: bool = False) -> UseCase[P, T]:
    """The use case that returns what is seen on one snapshot; at a glance, by one look-up that
    others who ask then share. Refuses as is seen.
    """

    async def use_case(self: UseCases, caller: Caller, /, *asked: P.args, **more: P.kwargs) -> T:
        runner = self._house.runner
        look = runner.glance if at_a_glance else runner.look
        return await look(caller, lambda found: see(found, *asked, **more))

    return use_case
