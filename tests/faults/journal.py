"""What writers asked for and were answered, held against what a store says after a crash."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

REFUSED = range(400, 504)


@dataclass
class Write:
    """One request that changes a variable. `status` is None while it is not answered, and for ever
    when it never was or the outcome is unknown; `version` is what an acknowledgement said."""

    request_id: str
    action: str
    value: str | None = None
    status: int | None = None
    version: str | None = None

    @property
    def acknowledged(self) -> bool:
        """Whether the caller may rely on it."""
        return self.status is not None and self.status < 300


def losses(
    writes: Iterable[Write],
    variables: Iterable[Mapping[str, Any]],
    entries: Iterable[Mapping[str, Any]],
) -> list[str]:
    """Every promise the store has broken, in words; none when it has kept them.

    `variables` are the resource objects of a workspace, `entries` the lines of `audit export`.
    """
    asked = {write.request_id: write for write in writes}
    found = [entry for entry in entries if entry["action"].startswith("variable.")]
    by_request = {entry["request"]: entry for entry in found}
    broken = [f"{entry['request']} has two entries" for entry in found]
    broken = broken[: len(found) - len(by_request)]
    for write in asked.values():
        broken += _of_write(write, by_request.get(write.request_id))
    broken += [f"nobody asked for {request}" for request in by_request.keys() - asked.keys()]
    return broken + _of_state(asked, variables, found)


def _of_write(write: Write, entry: Mapping[str, Any] | None) -> list[str]:
    if write.status == 404:
        return [f"{write} did not find what had been acknowledged"]
    if entry is None:
        return [f"{write} was acknowledged and is lost"] if write.acknowledged else []
    if write.status in REFUSED:
        return [f"{write} was refused and happened"]
    if entry["action"] != write.action:
        return [f"{write} was recorded as {entry['action']}"]
    version = entry["details"]["version-id"]
    if write.version not in (None, version):
        return [f"{write} was recorded with {version}"]
    return []


def _of_state(
    asked: Mapping[str, Write],
    variables: Iterable[Mapping[str, Any]],
    entries: Iterable[Mapping[str, Any]],
) -> list[str]:
    """The variables must be exactly what the audit trail, played from its beginning, makes."""
    made: dict[str, tuple[str, str | None]] = {}
    for entry in sorted(entries, key=lambda entry: int(entry["sequence"])):
        if entry["action"] == "variable.delete":
            made.pop(entry["subject"]["id"], None)
            continue
        write = asked.get(entry["request"])
        value = write.value if write else None
        made[entry["subject"]["id"]] = entry["details"]["version-id"], value
    there = {
        one["id"]: (one["attributes"]["version-id"], one["attributes"]["value"])
        for one in variables
    }
    return [
        f"{id_} is {there.get(id_)}, but the audit trail says {made.get(id_)}"
        for id_ in there.keys() | made.keys()
        if there.get(id_) != made.get(id_)
    ]
