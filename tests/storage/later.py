"""Migrations of a release that is later than this one, made up for tests."""

from collections.abc import Sequence

import pytest

from teamvars.storage import migrations
from teamvars.storage.migrations import Migration, read

EXPAND = """-- expand, admits {before}: to who does not know the column a thing has no size.
ALTER TABLE things ADD COLUMN size BIGINT;
-- backfill things (id)
UPDATE things SET size = length(note) WHERE {page} AND (size IS NULL OR size <> length(note));
"""
CONTRACT = """-- contract, admits {expand}: who does not know the sizes would add things without.
-- backfill things (id)
UPDATE things SET size = length(note) WHERE {page} AND (size IS NULL OR size <> length(note));
-- then
CREATE INDEX things_size ON things (size);
"""


def later(*texts: str) -> list[Migration]:
    """The migrations of these texts, in which `{before}` is this release's number and `{expand}`
    the first one's of these.
    """
    before = migrations.number()
    numbers = {"{before}": str(before), "{expand}": str(before + 1)}
    made = []
    for number, text in enumerate(texts, start=before + 1):
        for mark, digits in numbers.items():
            text = text.replace(mark, digits)
        made.append(read(f"{number:03}_made_up_{number}.sql", text))
    return made


def released(patch: pytest.MonkeyPatch, added: Sequence[Migration]) -> None:
    """From here on this process is of a release that has these as well."""
    known = (*migrations.known(), *added)
    patch.setattr(migrations, "known", lambda: known)
