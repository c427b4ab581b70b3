"""`dev.py advisories PATH`: is anything that is pinned here known to be vulnerable?

The list is given, and nothing is fetched: a folder or a zip of advisories as https://osv.dev
exports them for PyPI, one JSON file each. What its entries say of versions is believed, and no
entry that cannot be read is passed over.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
RELEASED = ("client", "runtime")
"""The lists of what a release runs with; the others are those of tools."""

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_ECOSYSTEM = "PyPI"


class Unusable(Exception):
    """There is no list of advisories to compare with; the text says why."""


class Compared(NamedTuple):
    """What came of it: a line for each fault, how many advisories there were, and of which day the
    newest is.
    """

    faults: list[str]
    advisories: int
    newest: str


def compare(lists: Iterable[Path], advisories: Path) -> Compared:
    """What the advisories say of the pins of these lists. Raises Unusable."""
    pins = {
        (canonicalize_name(name), version)
        for file in lists
        for name, version in _PIN.findall(file.read_text())
    }
    faults: set[str] = set()
    count, newest = 0, ""
    for file, text in _texts(advisories):
        count += 1
        try:
            advisory = json.loads(text)
            newest = max(newest, advisory["modified"][:10])
            faults.update(_told(advisory, pins))
        except (ValueError, KeyError, TypeError, AttributeError):
            faults.add(f"{file} is no advisory that can be read")
    if not count:
        raise Unusable(f"{advisories} has no advisories: an empty list would find nothing.")
    return Compared(sorted(faults), count, newest)


def _texts(advisories: Path) -> Iterator[tuple[str, bytes]]:
    """The name and content of each advisory."""
    if advisories.is_dir():
        yield from ((file.name, file.read_bytes()) for file in advisories.rglob("*.json"))
        return
    try:
        with ZipFile(advisories) as whole:
            yield from ((name, whole.read(name)) for name in whole.namelist() if ".json" in name)
    except (OSError, BadZipFile) as error:
        raise Unusable(f"{advisories} is neither a folder nor a zip: {error}.") from None


def _told(advisory: Mapping[str, Any], pins: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A line for each pin that it is about."""
    if "withdrawn" in advisory:
        return
    about = [
        (canonicalize_name(one["package"]["name"]), one)
        for one in advisory.get("affected", ())
        if one["package"]["ecosystem"] == _ECOSYSTEM
    ]
    for name, version in pins:
        if any(named == name and _is_affected(version, one) for named, one in about):
            summary = str(advisory.get("summary", "no summary")).partition("\n")[0]
            yield f"{name} {version}: {advisory['id']}, {summary}"


def _is_affected(version: str, said: Mapping[str, Any]) -> bool:
    """Whether the version is one of those that are listed, or in a range."""
    ranges = (one["events"] for one in said.get("ranges", ()) if one["type"] == "ECOSYSTEM")
    return version in said.get("versions", ()) or any(_is_within(version, one) for one in ranges)


def _is_within(version: str, events: Sequence[Mapping[str, str]]) -> bool:
    """Whether it lies between an event that begins something and the one that ends it."""
    asked, is_within = Version(version), False
    known = chain.from_iterable(event.items() for event in events)
    ordered = sorted(((_version(at), kind) for kind, at in known), key=lambda event: event[0])
    for at, kind in ordered:
        if kind == "introduced" and at <= asked:
            is_within = True
        elif (kind == "fixed" and at <= asked) or (kind == "last_affected" and at < asked):
            is_within = False
    return is_within


def _version(text: str) -> Version:
    """Raises ValueError for what is none, which InvalidVersion is."""
    return Version("0.dev0" if text == "0" else text)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="dev.py advisories", description=__doc__)
    parser.add_argument("advisories", type=Path, help="a folder or a zip of advisories of OSV")
    options = parser.parse_args()
    try:
        found = compare((ROOT / "requirements").glob("*.txt"), options.advisories)
    except Unusable as reason:
        sys.exit(str(reason))
    print(*found.faults, sep="\n")
    print(f"Compared with {found.advisories:,} advisories, the newest of {found.newest}.")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
