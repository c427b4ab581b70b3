"""Which store a change with an `Idempotency-Key` has: one that looks for its record."""

from uuid import uuid4

import pytest

from teamvars.domain.audit import Actor
from teamvars.domain.errors import KEY_REUSED, Refusal, forbidden, storage_unavailable
from teamvars.domain.idempotency import Asked
from teamvars.security.idempotency import RecordKeys
from teamvars.services import idempotency
from teamvars.services.idempotency import OnceDatabase, Repeated, once
from teamvars.storage.database import Body, T, Transaction
from tests.services.calls import Calls, caller
from tests.support.engines import ON_SQLITE

WAYS = "read", "query", "write", "write_in_turns"


class Ways:
    """The ways to a store that looks for records."""

    def __init__(self, calls: Calls) -> None:
        self._database = OnceDatabase(calls.services.database, RecordKeys(calls.node.keys))
        sender = caller(calls.tenant, "owner")
        sender.actor = Actor("user", calls.tenant.users["owner"])
        self._asked = Asked(sender, uuid4().hex, ("what",), bytes(32))

    async def go(self, way: str, body: Body[T]) -> T:
        """What the body comes to, without a key."""
        found: T = await getattr(self._database, way)(body)
        return found

    async def once(self, way: str, body: Body[T]) -> T:
        """The same with one, of which an answer is kept."""
        return await once(self._asked, self.go(way, body), lambda _: b"kept")


async def seven(tx: Transaction) -> int:
    row = await tx.fetch_one("SELECT 7")
    assert row is not None
    return int(row[0])


async def refused(_: Transaction) -> int:
    raise Refusal(KEY_REUSED)


@ON_SQLITE
@pytest.mark.parametrize("way", WAYS)
async def test_without_a_key_there_is_no_record(calls: Calls, way: str) -> None:
    ways = Ways(calls)
    assert await ways.go(way, seven) == 7
    with pytest.raises(Refusal, match="key_reused"):
        await ways.go(way, refused)


@ON_SQLITE
@pytest.mark.parametrize("way", WAYS)
async def test_with_one_every_way_looks_for_it(calls: Calls, way: str) -> None:
    ways = Ways(calls)
    assert await ways.once("write", seven) == 7
    with pytest.raises(Repeated) as repeated:
        await ways.once(way, refused)
    assert repeated.value.answer == b"kept"


def test_whoever_may_do_it_no_more_or_cannot_be_asked_is_not_told_what_was_done() -> None:
    for refusal in (forbidden("You may not."), storage_unavailable()):
        with pytest.raises(Refusal):
            idempotency._require_right(refusal)
    taken = Refusal(KEY_REUSED)
    idempotency._require_right(taken)
