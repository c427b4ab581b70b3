"""Jobs that ask for values without pause, and note what they are handed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from teamvars.protocol.bundles import JobKey
from tests.faults.jobs import JobService
from tests.support.patience import HANGS, until

DELIVERERS = 4


class Deliverers:
    """Some jobs of one service, with a token each. `asked` and `handed` have ids of requests."""

    def __init__(self, service: JobService) -> None:
        self.asked: set[str] = set()
        self.handed: set[str] = set()
        """Whose values have arrived, whole, and were opened."""
        self._service = service
        self._tokens: list[tuple[JobKey, str]] = []
        self._going_on = False

    async def prepare(self) -> None:
        """Gets tokens, which are good for some minutes."""
        self._tokens.clear()
        async with self._client() as client:
            for _ in range(DELIVERERS):
                key = JobKey.generate()
                self._tokens.append((key, await self._service.token(client, key)))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """They begin, and end with the block, each with the answer to its last request."""
        self._going_on = True
        async with self._client() as client, asyncio.TaskGroup() as group:
            for key, token in self._tokens:
                group.create_task(self._ask(client, key, token))
            try:
                yield
            finally:
                self._going_on = False

    async def until_more(self, count: int) -> None:
        """Returns once that many more were handed the values."""
        wanted = len(self.handed) + count

        async def is_reached() -> bool:
            return len(self.handed) >= wanted

        await until(is_reached)

    async def receipts(self) -> int:
        """How many there are."""
        runner, database = self._service.runner, self._service.served.services.database
        sql = "SELECT sequence FROM streams WHERE id = $1"
        return await database.query(lambda tx: tx.count(sql, runner))

    async def recorded(self) -> set[str]:
        """The requests that the trail has a receipt of."""
        sql = (
            "SELECT request_id FROM audit_entries "
            "WHERE stream_id = $1 AND action = 'variable.deliver'"
        )
        runner, database = self._service.runner, self._service.served.services.database
        return {row[0] for row in await database.read(lambda tx: tx.fetch(sql, runner))}

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self._service.served.server.url, timeout=HANGS)

    async def _ask(self, client: httpx.AsyncClient, key: JobKey, token: str) -> None:
        while self._going_on:
            path, headers, body = self._service.delivering(token, key)
            request = headers["X-Request-Id"]
            self.asked.add(request)
            try:
                answer = await client.post(path, content=body, headers=headers)
            except httpx.TransportError:
                await asyncio.sleep(0.01)
                continue
            assert answer.status_code in (200, 503), answer.text
            if answer.status_code == 200:
                self._service.opened(answer.content, key)
                self.handed.add(request)
