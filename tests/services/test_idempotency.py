"""Which store a change with an `Idempotency-Key` has: one that looks for its record."""

from types import SimpleNamespace
from typing import Any

import pytest

from teamvars.domain.errors import KEY_REUSED, Refusal, forbidden, not_found, storage_unavailable
from teamvars.services import idempotency
from teamvars.services.idempotency import OnceDatabase

WAYS = "read", "query", "write", "write_in_turns"


@pytest.fixture
def database() -> OnceDatabase:
    """One whose ways all say by which of them something was done."""

    def done(way: str) -> Any:
        async def does(body: Any, **_: object) -> Any:
            return await body(way)

        return does

    more = dict.fromkeys(("in_request", "batch", "deadline", "now"))
    store: Any = SimpleNamespace(**{way: done(way) for way in WAYS}, **more)
    keys: Any = None
    return OnceDatabase(store, keys)


async def said(way: str) -> str:
    return f"by {way}"


@pytest.mark.parametrize("way", WAYS)
async def test_without_a_key_there_is_no_record(database: OnceDatabase, way: str) -> None:
    async def refused(_: object) -> None:
        raise not_found()

    assert await getattr(database, way)(said) == f"by {way}"
    with pytest.raises(Refusal, match="not_found"):
        await getattr(database, way)(refused)


@pytest.mark.parametrize("way", WAYS)
async def test_with_one_every_way_looks_for_it(
    database: OnceDatabase, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def looked(_: object, keyed: object, __: object, body: object) -> object:
        return keyed, body

    monkeypatch.setattr(OnceDatabase, "_look", looked)
    monkeypatch.setattr(OnceDatabase, "_make", looked)
    keyed: Any = object()
    token = idempotency._KEYED.set(keyed)
    try:
        assert await getattr(database, way)(said) == (keyed, said)
    finally:
        idempotency._KEYED.reset(token)


def test_whoever_may_do_it_no_more_or_cannot_be_asked_is_not_told_what_was_done() -> None:
    for refusal in (forbidden("You may not."), storage_unavailable()):
        with pytest.raises(Refusal):
            idempotency._require_right(refusal)
    taken = Refusal(KEY_REUSED)
    idempotency._require_right(taken)
