"""Entries are added, and streams locked, in one place each: a second would be a way around it."""

import re
from collections.abc import Sequence

import pytest

from tests.test_documents import ROOT

SOURCE = ROOT / "src" / "teamvars"


def places(pattern: str) -> Sequence[str]:
    """The modules in which it is found."""
    return [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.glob("**/*.py"))
        if re.search(pattern, path.read_text())
    ]


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        ("INSERT INTO audit_entries", ["storage/streams.py"]),
        # By their ids, or by the look-ups that bring a caller's rights, those of a job, or what is
        # known of who signs in.
        (r"\{lock streams\}", ["storage/streams.py"]),
        (
            r"\{lock held\}",
            [
                "storage/access_statements.py",
                "storage/database.py",
                "storage/streams.py",
            ],
        ),
        # Decisions one by one or in waves, what an operator accepts of an altered trail, and the
        # first entry of the system's stream, in the transaction that makes the stream.
        (
            r"streams\.append",
            [
                "changes/making.py",
                "changes/waves.py",
                "services/audit_verification.py",
                "services/installation.py",
            ],
        ),
    ],
)
def test_it_is_done_in_one_place(pattern: str, known: Sequence[str]) -> None:
    assert places(pattern) == known
