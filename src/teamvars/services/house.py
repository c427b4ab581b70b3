"""What use cases have in common: a store, a time, one way to decide by what is found, and one to
tell what a change would make of workspaces, however many there are.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from teamvars.changes import Tools
from teamvars.changes.making import Changes
from teamvars.changes.waves import Change
from teamvars.decisions import Decision, Found
from teamvars.decisions.variable_sets import Foreseen
from teamvars.decisions.variables import ToOwner, ToWorkspace
from teamvars.domain.access import Caller, Permission, VariablesAccess
from teamvars.domain.audit import Actor
from teamvars.domain.errors import Kind, Refusal, Unfinished
from teamvars.domain.keys import KeyRefused
from teamvars.domain.set_effects import Effects
from teamvars.domain.variable_sets import Quotas, SetLimits
from teamvars.pace import Pace, in_batches
from teamvars.security.cursors import Cursors
from teamvars.security.keyring import KeyringError
from teamvars.services.code.checker import CodeChecker
from teamvars.services.issuers import Trust
from teamvars.storage import access
from teamvars.storage.database import Store, Transaction
from teamvars.storage.engines.outages import reason

P = ParamSpec("P")
T = TypeVar("T")
Cases = TypeVar("Cases", bound="UseCases")
UseCase = Callable[Concatenate["UseCases", Caller, P], Coroutine[Any, Any, T]]
Reading = Callable[Concatenate[Cases, Transaction, P], Coroutine[Any, Any, T]]
"""A method that is given a transaction before all that it is asked."""

_AT_ONCE = 8
"""Workspaces that are compared before others may have the loop: one may take a millisecond."""


class House(msgspec.Struct, frozen=True):
    """The store, what changes are made with and what makes them, and what else use cases need: the
    seals of cursors, what reads code, what a workspace or a set may hold, what is the most of sets,
    and what is believed of jobs and runners.
    """

    database: Store
    tools: Tools
    changes: Changes
    cursors: Cursors
    code: CodeChecker
    quotas: Quotas
    limits: SetLimits
    trust: Trust


class UseCases:
    """Use cases of one noun."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._database = house.database
        self._tools = house.tools
        self._clock = house.tools.clock
        self._trust = house.trust

    async def _actor(self, tx: Transaction, caller: Caller) -> Actor:
        """Who calls. Refuses: unauthenticated."""
        await access.authenticate(tx, caller, self._clock())
        assert caller.actor is not None
        return caller.actor

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
        return await self._house.changes.make(change)

    return use_case


def looks(see: Callable[Concatenate[Found, P], T], *, at_a_glance: bool = False) -> UseCase[P, T]:
    """The use case that returns what is seen on one snapshot; at a glance, by one look-up that
    others who ask then share. Refuses as is seen.
    """

    async def use_case(self: UseCases, caller: Caller, /, *asked: P.args, **more: P.kwargs) -> T:
        changes = self._house.changes
        look = changes.glance if at_a_glance else changes.look
        return await look(caller, lambda found: see(found, *asked, **more))

    return use_case


def reads(method: Reading[Cases, P, T]) -> Callable[Concatenate[Cases, P], Coroutine[Any, Any, T]]:
    """The use case that does what the method says, on one snapshot."""

    async def use_case(self: Cases, /, *asked: P.args, **more: P.kwargs) -> T:
        return await self._database.read(lambda tx: method(self, tx, *asked, **more))

    return use_case


def surveys(
    method: Reading[Cases, P, T],
) -> Callable[Concatenate[Cases, P], Coroutine[Any, Any, T]]:
    """As `reads`, of what looks at many rows, for which nobody else waits."""

    async def use_case(self: Cases, /, *asked: P.args, **more: P.kwargs) -> T:
        return await self._database.survey(lambda tx: method(self, tx, *asked, **more))

    return use_case


def glances(
    method: Reading[Cases, P, T],
) -> Callable[Concatenate[Cases, P], Coroutine[Any, Any, T]]:
    """As `reads`, with a snapshot for each statement, which others that wait may share."""

    async def use_case(self: Cases, /, *asked: P.args, **more: P.kwargs) -> T:
        return await self._database.query(lambda tx: method(self, tx, *asked, **more))

    return use_case


async def access_to(
    tx: Transaction, caller: Caller, now: int, to: ToOwner, *, lock: bool = False
) -> VariablesAccess[Any]:
    """What the caller may do with the variables of a workspace or a set. Refuses and locks as
    `storage.access.workspace`.
    """
    find = access.workspace if isinstance(to, ToWorkspace) else access.variable_set
    return await find(tx, caller, now, to.owner_id, lock=lock)


@glances
async def admit_writer(self: UseCases, tx: Transaction, caller: Caller, to: ToOwner) -> None:
    """Refuses callers who may not change the variables of a workspace or a set, before what is
    costly.

    Refuses: unauthenticated, not found, forbidden.
    """
    granted = await access_to(tx, caller, self._clock(), to)
    granted.require(Permission.WRITE_VARIABLES)


@contextmanager
def afterwards(told: str) -> Iterator[None]:
    """Within it a part of a change is made, which a refusal of the rest says nothing of: `told`
    does, and what to do about it. Raises Unfinished.
    """
    try:
        yield
    except Refusal as refusal:
        why = "" if refusal.__cause__ is None else f" ({reason(refusal.__cause__)})"
        # What tells of an outage says that nothing was changed.
        faults = () if refusal.kind is Kind.UNAVAILABLE else refusal.faults
        details = [fault.detail for fault in faults]
        raise Unfinished(" ".join([f"The rest was refused{why}.", *details, told])) from None
    except (Unfinished, KeyRefused, KeyringError) as error:
        raise type(error)(f"{error} {told}") from None


async def foretold(foreseen: Foreseen) -> Effects:
    """What the caller is told a change of sets would make of workspaces, however many there are;
    others have the loop in between.
    """
    pace, tally = Pace(), foreseen.tally()
    for some in in_batches(foreseen.workspaces, lambda _: 1, _AT_ONCE):
        tally.add(some)
        await pace.keep()
    return foreseen.with_runners(tally.told)
