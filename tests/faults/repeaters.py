"""Clients that send a change again until they have its answer, and what the audit trail says of it.

Each makes tokens for a team of its own: one that is made twice is told by the trail, and nothing
keeps it from being made.
"""

import asyncio
import gc
import itertools
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.support.patience import HANGS
from tests.support.tenant import JSON_API

CLIENTS = 12
_DOCUMENT = {"data": {"type": "authentication-tokens", "attributes": {}}}


def directory() -> str:
    """A directory file with the clients, and a team for each."""
    names = [f"client-{n}" for n in range(CLIENTS)]
    listed = "".join(f"\n      - {{name: team-{name}, members: []}}" for name in names)
    return f"""\
users: [{", ".join(f"{{username: {name}}}" for name in names)}]
organizations:
  - name: acme
    members: {{{", ".join(f"{name}: active" for name in names)}}}
    teams:
      - {{name: owners, members: [{", ".join(names)}]}}{listed}
"""


@dataclass
class Change:
    """One token to be made; each of its requests has an id that begins with its name."""

    name: str = field(default_factory=lambda: uuid4().hex)
    attempts: int = 0
    made: str = ""
    wrong: str = ""
    """What was answered that never should be."""


class Repeaters:
    """Some clients of nodes on one store. Without keys they are the control."""

    def __init__(self, urls: list[str], teams: list[str], tokens: list[str], *, keys: bool) -> None:
        self.changes: list[Change] = []
        self.told: Counter[str] = Counter()
        """How often each refusal was answered, and how often nothing was."""
        self._urls = urls
        self._callers = list(zip(teams, tokens, strict=True))
        self._keys = keys

    @property
    def retries(self) -> int:
        """How many requests were sent that had been sent before."""
        return sum(max(change.attempts - 1, 0) for change in self.changes)

    async def work_until(self, retries: int) -> None:
        """Makes tokens until so many requests were sent again; then ends what was begun."""
        async with httpx.AsyncClient(timeout=HANGS) as client, asyncio.TaskGroup() as group:
            for team, token in self._callers:
                group.create_task(self._work(client, team, token, retries))
        # Whoever hangs up while the client connects leaves the socket to the collector, which warns
        # of it: in the test that did so, not in one that comes later.
        gc.collect()

    async def _work(self, client: httpx.AsyncClient, team: str, token: str, retries: int) -> None:
        paths = [f"{url}/api/v2{team}/authentication-token" for url in self._urls]
        urls = itertools.cycle(random.sample(paths, len(paths)))
        while self.retries < retries:
            change = Change()
            self.changes.append(change)
            while not (change.made or change.wrong):
                await self._send(client, next(urls), token, change)
            # Once more, as if the answer was lost: whatever was lost meanwhile is up to chance.
            await self._send(client, next(urls), token, change)

    async def _send(self, client: httpx.AsyncClient, url: str, token: str, change: Change) -> None:
        change.attempts += 1
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": JSON_API,
            "X-Request-Id": f"{change.name}.{change.attempts}",
        }
        if self._keys:
            headers["Idempotency-Key"] = change.name
        # Some clients hang up, before or after the change is made.
        patience = random.uniform(0.001, 0.05) if random.random() < 0.2 else HANGS
        try:
            async with asyncio.timeout(patience):
                answer = await client.post(url, json=_DOCUMENT, headers=headers)
        except (httpx.TransportError, TimeoutError):
            self.told["no answer"] += 1
        else:
            self._note(change, answer)
        if not change.made:
            await asyncio.sleep(random.uniform(0, 0.05))

    def _note(self, change: Change, answer: httpx.Response) -> None:
        document = answer.json()
        if answer.status_code == 201:
            id_ = document["data"]["id"]
            if change.made:
                change.wrong = "was shown twice"
        else:
            (error,) = document["errors"]
            self.told[error["code"]] += 1
            if error["code"] != "already_made":
                if answer.status_code not in (409, 503):
                    change.wrong = f"was answered {answer.text}"
                return
            id_ = error["meta"]["id"]
        if change.made not in ("", id_):
            change.wrong = f"was {change.made} and is {id_}"
        change.made = id_


def broken(changes: Iterable[Change], entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was made twice, or was acknowledged and not made, in words."""
    made: dict[str, list[str]] = {}
    for entry in entries:
        if entry["action"] == "token.create":
            made.setdefault(entry["request"].partition(".")[0], []).append(entry["subject"]["id"])
    found = []
    for change in changes:
        ids = made.get(change.name, [])
        if change.wrong:
            found.append(f"{change.name} {change.wrong}")
        if len(ids) > 1:
            found.append(f"{change.name} was made {len(ids)} times")
        elif [change.made] != ids:
            found.append(f"{change.name} was acknowledged as {change.made}: {ids} is lost")
    return found
