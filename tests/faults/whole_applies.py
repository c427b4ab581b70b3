"""A client whose applies make all variables of a workspace others, and what is left of each."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.server_under_load import ServerUnderLoad
from tests.support.tenant import JSON_API

ITEMS = 400
PRUNED = {"prune": True}


def keys(number: int) -> set[str]:
    """What the workspace has after the apply of that number: half of what it had before goes."""
    first = ITEMS // 2 * (number % 2)
    return {f"key-{n}" for n in range(first, first + ITEMS)} if number else set()


def document(number: int) -> Any:
    """The apply of that number: each variable has it as its value."""
    attributes = ({"key": key, "category": "env", "value": str(number)} for key in keys(number))
    return {"data": [{"type": "vars", "attributes": each} for each in attributes], "meta": PRUNED}


def changes(before: int, number: int) -> set[tuple[str, str]]:
    """Action and key of each audit entry of that apply, when it comes after the other one."""
    old, new = keys(before), keys(number)
    return {
        *(("variable.create", key) for key in new - old),
        *(("variable.update", key) for key in new & old),
        *(("variable.delete", key) for key in old - new),
    }


@dataclass
class Applier:
    """Sends applies one after another, some of which are never answered."""

    hit: ServerUnderLoad
    sent: int = 0
    happened: list[int] = field(default_factory=lambda: [0])
    """The applies that were acknowledged or found in the workspace, which was empty at first."""
    seconds: float = 0.0
    """How long the first one took."""

    def apply(self) -> None:
        """Sends the next one, and waits for its answer or the end of the connection."""
        self.sent += 1
        begun = time.monotonic()
        path = self.hit.path.removesuffix("/vars") + "/actions/apply"
        headers = {"Content-Type": JSON_API, "X-Request-Id": f"apply-{self.sent}"}
        try:
            with self.hit.server.client(self.hit.token) as client:
                answer = client.post(path, json=document(self.sent), headers=headers)
        except httpx.TransportError:
            return
        assert answer.status_code == 200, answer.text
        self.happened.append(self.sent)
        self.seconds = self.seconds or time.monotonic() - begun

    def halves(self) -> list[str]:
        """What is there of an apply without the rest of it, or lost; none if nothing is."""
        with self.hit.server.client(self.hit.token) as client:
            variables = client.get(self.hit.path).json()["data"]
        attributes = [variable["attributes"] for variable in variables]
        values = {int(each["value"]) for each in attributes}
        if len(values) != 1:
            return [f"the workspace has values of {len(values)} applies"]
        (found,) = values
        if found not in (self.happened[-1], self.sent):
            return [f"the workspace is as apply {found} has left it"]
        if {each["key"] for each in attributes} != keys(found):
            return [f"apply {found} is there in part"]
        if found != self.happened[-1]:
            self.happened.append(found)
        host = self.hit.server.host
        exported = host.succeed("audit", "export").out.splitlines()
        verified = host.run("audit", "verify")
        told = [] if verified.code == 0 else [verified.out]
        return self._untold(map(json.loads, exported)) + told

    def _untold(self, entries: Iterable[Mapping[str, Any]]) -> list[str]:
        """Whether the audit trail has each change of what happened once, and no other."""
        found: dict[str, list[tuple[str, str]]] = {}
        for entry in entries:
            if entry["action"].startswith("variable."):
                change = entry["action"], entry["details"]["key"]
                found.setdefault(entry["request"], []).append(change)
        wanted = {
            f"apply-{number}": sorted(changes(before, number))
            for before, number in zip(self.happened, self.happened[1:], strict=False)
        }
        return [
            f"the trail of {request} is not what it changed"
            for request in found.keys() | wanted.keys()
            if sorted(found.get(request, [])) != wanted.get(request)
        ]
