"""What is renewed while it is being swept away stays, on both engines."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from teamvars.domain.ids import new_id
from teamvars.domain.logins import Login
from teamvars.security.tokens import hash_token
from teamvars.storage import idempotency, logins, sign_ins
from teamvars.storage.database import Transaction
from tests.services.calls import Calls, count
from tests.services.test_rechecks import waits

LONG_AGO, NOW, LATER = 1, 1_000, 10**18

Step = Callable[[Transaction], Coroutine[Any, Any, object]]


async def _token_of(calls: Calls, who: str) -> str:
    """The id of somebody's token."""

    async def body(tx: Transaction) -> str:
        sql = "SELECT id FROM tokens WHERE hash = $1"
        row = await tx.fetch_one(sql, hash_token(calls.tenant.tokens[who]))
        assert row is not None
        return str(row[0])

    return await calls.services.database.read(body)


def _asking(sql: str, *args: object) -> Step:
    return lambda tx: tx.execute(sql, *args)


async def _record(_: Calls) -> tuple[Step, Step, Step, str]:
    """A kept answer that has expired, and whose key is used again."""
    add = _asking(
        "INSERT INTO idempotency_records "
        "(name, principal, key_id, fingerprint, answer, bytes, expires_at) "
        "VALUES ('one', 'user', 'mk', $1, $1, 1, $2)",
        b"",
        LONG_AGO,
    )
    renew = _asking("UPDATE idempotency_records SET expires_at = $1", LATER)
    sweep = partial(idempotency.delete_expired, now=NOW)
    return add, renew, sweep, "SELECT count(*) FROM idempotency_records"


async def _session(calls: Calls) -> tuple[Step, Step, Step, str]:
    """A session that has ended, and whose last use another node notes."""
    id_ = await _token_of(calls, "reader")

    async def add(tx: Transaction) -> None:
        await tx.execute("UPDATE tokens SET expires_at = $2 WHERE id = $1", id_, LONG_AGO)
        await tx.execute("INSERT INTO sessions VALUES ($1, $2, 'company', $3, 1)", id_, b"", LATER)

    renew = _asking("UPDATE tokens SET expires_at = $2 WHERE id = $1", id_, LATER)
    return add, renew, partial(sign_ins.forget_ended, now=NOW), "SELECT count(*) FROM sessions"


async def _login(calls: Calls) -> tuple[Step, Step, Step, str]:
    """A program of a network that has too many, which somebody approves."""

    def begun() -> Step:
        login = Login(new_id("login"), new_id("code").encode(), "host", None, LONG_AGO, LATER)
        return partial(logins.begin, some=[login])

    renew = _asking("UPDATE logins SET token_id = $1", await _token_of(calls, "reader"))
    return begun(), renew, begun(), "SELECT count(*) - 1 FROM logins"


@pytest.mark.parametrize("what", [_record, _session, _login])
async def test_what_is_renewed_while_it_is_swept_away_stays(
    own_calls: Calls,
    own_url: str,
    monkeypatch: pytest.MonkeyPatch,
    what: Callable[[Calls], Awaitable[tuple[Step, Step, Step, str]]],
) -> None:
    monkeypatch.setattr(logins, "MOST_OPEN", 1)
    add, renew, sweep, left = await what(own_calls)
    database = own_calls.services.database
    await database.write(add)

    async def renewing(tx: Transaction) -> asyncio.Task[object]:
        await renew(tx)
        sweeping = asyncio.ensure_future(database.write(sweep))
        await waits(own_url, sweeping)
        return sweeping

    await (await database.write(renewing))
    assert await count(database, left) == 1
