"""Writers who wait for rows that somebody holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from tests.faults.hostile.attack import Attack
from tests.faults.hostile.target import Target, document
from tests.faults.hostile.wire import Answer, ask


@asynccontextmanager
async def _locked(url: str, stream_ids: list[str]) -> AsyncIterator[None]:
    """Holds the rows as a session of psql would that was left open."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.fetch(
                "SELECT id FROM streams WHERE id = ANY($1) ORDER BY id FOR UPDATE", stream_ids
            )
            yield
    finally:
        await connection.close()


async def locked_writers(target: Target, seconds: float) -> list[Answer]:
    """64 of them, each in a workspace of its own; the rows are free when the attack ends."""
    crowd = target.crowd
    async with _locked(target.served.config.url, list(crowd.workspaces)):
        writers = [asyncio.create_task(_write(target, workspace)) for workspace in crowd.workspaces]
        await asyncio.sleep(seconds)
    return [await writer for writer in writers]


async def _write(target: Target, workspace: str) -> Answer:
    path = f"/api/v2/workspaces/{workspace}/vars"
    body = document(key="waited_for")
    return await ask(target.port, target.request("POST", path, target.crowd.token, body))


ATTACKS = [
    Attack(
        "64 writers of locked rows",
        locked_writers,
        # 422: the key is there from the time before.
        frozenset({201, 422, 429, 503}),
        engines=("postgres",),
    )
]
