"""What is done by one worker, and in which order."""

from collections.abc import Sequence

import pytest

# These wait for servers, browsers and commands that they start: if they come first, others have the
# processor meanwhile, and no worker is left alone with a long one at the end.
WAIT_MOST = ("tests/console/", "tests/clients/", "tests/faults/", "tests/cli/")
TOGETHER = "tests/console/"
HANDS = "tests/console/hands/"


def place(nodeid: str) -> int:
    """Where a test comes: those of one place stay in their order."""
    waiting = [n for n, room in enumerate(WAIT_MOST) if nodeid.startswith(room)]
    return waiting[0] if waiting else len(WAIT_MOST)


def share(nodeid: str) -> str:
    """What a test is done together with: a file on one engine, all that look at the console, or all
    that hands do there in one browser.

    A file makes its store once, and starting a browser takes as long as many tests.
    """
    file, _, test = nodeid.partition("::")
    if file.startswith(HANDS):
        return f"{HANDS} {test.partition('[')[2]}"
    if file.startswith(TOGETHER):
        return TOGETHER
    return f"{file} postgres" if "postgres" in test.partition("[")[2] else file


def in_shares(items: Sequence[pytest.Item]) -> Sequence[Sequence[pytest.Item]]:
    """The tests in their shares, each where its first test is."""
    shares: dict[str, list[pytest.Item]] = {}
    for item in items:
        shares.setdefault(share(item.nodeid), []).append(item)
    return list(shares.values())
