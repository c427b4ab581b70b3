"""Clients that write without pause, and note what they ask for before they ask."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx

from tests.faults.journal import Write
from tests.support.patience import HANGS
from tests.support.tenant import JSON_API, variable_document

WRITERS = 8


class Writers:
    """Some clients of one workspace; each creates, changes and deletes variables of its own."""

    pause = 0.01
    """Seconds after a create that failed."""

    def __init__(self, url: str, path: str, token: str) -> None:
        self.writes: list[Write] = []
        self._going_on = False
        self._progress = asyncio.Condition()
        self._numbers = itertools.count()
        self._path = path
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON_API}

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """They begin, and end with the block, each with the answer to its last request."""
        self._going_on = True
        async with (
            httpx.AsyncClient(base_url=self._url, timeout=HANGS) as client,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(WRITERS):
                group.create_task(self._write(client))
            try:
                yield
            finally:
                self._going_on = False

    @property
    def acknowledged(self) -> int:
        """How many writes were acknowledged so far."""
        return sum(write.acknowledged for write in self.writes)

    @property
    def refused(self) -> int:
        """How many were refused because storage was unavailable."""
        return sum(write.status == 503 for write in self.writes)

    async def until_more(self, count: int) -> None:
        """Returns once that many more writes were acknowledged."""
        wanted = self.acknowledged + count
        await self._until(lambda: self.acknowledged >= wanted)

    async def until_refused(self, count: int) -> None:
        """Returns once that many more were refused."""
        wanted = self.refused + count
        await self._until(lambda: self.refused >= wanted)

    async def _until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(HANGS), self._progress:
            await self._progress.wait_for(reached)

    async def _write(self, client: httpx.AsyncClient) -> None:
        """Creates, changes twice, and deletes every other time; after a failure, anew."""
        while self._going_on:
            number = next(self._numbers)
            document = variable_document(key=f"key-{number}", value=f"first-{uuid4()}")
            made = await self._ask(client, "POST", self._path, "variable.create", document)
            if made is None:
                await asyncio.sleep(self.pause)
                continue
            id_ = made["id"]
            for _ in range(2):
                attributes = {"value": f"later-{uuid4()}"}
                document = {"data": {"type": "vars", "id": id_, "attributes": attributes}}
                path = f"{self._path}/{id_}"
                await self._ask(client, "PATCH", path, "variable.update", document)
            if number % 2:
                await self._ask(client, "DELETE", f"{self._path}/{id_}", "variable.delete")

    async def _ask(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        action: str,
        document: dict[str, dict[str, dict[str, str]]] | None = None,
    ) -> dict[str, str] | None:
        value = document and document["data"]["attributes"]["value"]
        write = Write(uuid4().hex, action, value or None)
        self.writes.append(write)
        headers = {**self._headers, "X-Request-Id": write.request_id}
        try:
            return self._note(
                write, await client.request(method, path, json=document, headers=headers)
            )
        except httpx.TransportError:
            return None
        finally:
            async with self._progress:
                self._progress.notify_all()

    def _note(self, write: Write, answer: httpx.Response) -> dict[str, str] | None:
        """Writes the answer down; returns the variable when there is one."""
        body = answer.json() if answer.content else {}
        if answer.status_code >= 400:
            codes = {error["code"] for error in body["errors"]}
            assert answer.status_code in (404, 503), answer.text
            assert ("Retry-After" in answer.headers) == (codes == {"storage_unavailable"})
            write.status = None if "outcome_unknown" in codes else answer.status_code
            return None
        if body:
            write.version = body["data"]["attributes"]["version-id"]
        write.status = answer.status_code
        return body.get("data")
