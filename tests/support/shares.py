"""What is done by one worker, and in which order."""

from collections.abc import Sequence

import pytest

# These wait for servers, browsers and commands that they start: if they come first, others have the
# processor meanwhile. After them come the longest, so that no worker is left alone with one at the
# end.
FIRST = (
    *("tests/console/", "tests/clients/", "tests/faults/", "tests/cli/", "tests/test_"),
    *("tests/web/test_fuzz.py", "tests/web/test_openapi", "tests/web/test_tight_document.py"),
)
TOGETHER = "tests/console/"
HANDS = "tests/console/hands/"


def place(nodeid: str) -> int:
    """Where a test comes: those of one place stay in their order."""
    places = [n for n, room in enumerate(FIRST) if nodeid.startswith(room)]
    return places[0] if places else len(FIRST)


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
