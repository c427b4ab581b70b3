"""Lists of many pages are whole, whoever makes and deletes what is in them meanwhile."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from teamvars.cli.client.api import Answer, Api, at
from teamvars.cli.client.api.addresses import Address
from teamvars.cli.client.api.targets import Target, Token
from teamvars.cli.exits import Failure
from tests.cli.client import stubs
from tests.support.desk import Desk

Changes = Callable[[list[str]], None]


class Changing:
    """A service of many workspaces. Before each of its second pages, `most` times, somebody
    changes which there are.
    """

    def __init__(self, change: Changes, most: int) -> None:
        self.names = [f"prod-{number:03}" for number in range(150)]
        self._change = change
        self._left = most

    def tell(self, path: str, _: bytes) -> stubs.Answer:
        """What it says to a request."""
        query = parse_qs(urlsplit(path).query)
        size, number = (int(query[f"page[{name}]"][0]) for name in ("size", "number"))
        if number == 2 and self._left:
            self._left -= 1
            self._change(self.names)
        names = sorted(self.names)
        shown = names[(number - 1) * size : number * size]
        following = number + 1 if number * size < len(names) else None
        page = {"total-count": len(names), "next-page": following}
        return 200, {"data": [workspace(name) for name in shown], "meta": {"pagination": page}}


def workspace(name: str) -> dict[str, Any]:
    """A workspace, whose id is that of its first name."""
    its = {"name": name, "variables-count": 0, "locked": False}
    return {"type": "workspaces", "id": f"ws-{name[-3:]}", "attributes": its}


def goes(names: list[str]) -> None:
    """One of the first page is deleted: what was the next one is on that page now."""
    names.pop(0)


def comes(names: list[str]) -> None:
    """Another is made before all."""
    names.insert(0, f"a-{len(names)}")


def is_renamed(names: list[str]) -> None:
    """One of the first page is on the second, and one of that on the first."""
    names.append(names.pop(0).replace("prod", "test"))


def listed(desk: Desk, service: Changing, *words: str) -> tuple[int, list[str], str]:
    """The exit code, the names and what is said of a list of workspaces."""
    with stubs.answering(service.tell) as url:
        done = desk.having(address=url, token="t", organization="acme").run(*words)
    return done.code, [line.split()[0] for line in done.out.splitlines()], done.err


@pytest.mark.parametrize("change", [goes, comes, is_renamed])
def test_what_changes_between_two_pages_has_nothing_missed_or_taken_twice(
    stranger: Desk, change: Changes
) -> None:
    service = Changing(change, most=1)
    code, names, _ = listed(stranger, service, "workspace", "list")
    assert (code, names) == (0, sorted(service.names))


def test_a_pattern_that_never_gets_a_whole_list_ends_the_command(stranger: Desk) -> None:
    service = Changing(goes, most=100)
    words = ("vars", "set", "KEY=1", "-w", "prod-*", "--yes")
    code, names, said = listed(stranger, service, *words)
    assert (code, names) == (6, [])
    assert "was changed while it was read" in said


class Endless(Api):
    """Lists for ever: pages of ever more resources, each as large as a page can be."""

    def get(self, path: str) -> Answer:
        """The page that is asked for, and that there is another."""
        number = int(path.rpartition("=")[2])
        data = [{"id": f"prj-{number}-{place}"} for place in range(100)]
        meta = {"pagination": {"next-page": number + 1}}
        return Answer({"data": data, "meta": meta}, {})


def test_a_list_that_has_no_end_ends_the_command() -> None:
    there = Target(Address("https", "hcp.example.com", 443), "said", Token("t", "you"))
    with pytest.raises(Failure, match="lists more than 100000 of one kind"):
        Endless(there).listed(at("organizations", "there", "projects"))
