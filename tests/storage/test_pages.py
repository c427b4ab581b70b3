"""Pages of rows, and how many rows there are in all, on both engines."""

import pytest

from teamvars.domain.pages import Page, Paged
from teamvars.storage.database import Database, Row, Transaction
from teamvars.storage.pages import Reading
from tests.storage.stores import adding
from tests.support.observed_transaction import ObservedTransaction

THINGS = Reading[Row]("id", "things", tuple)


@pytest.mark.parametrize(
    ("size", "number", "found", "is_counted"),
    [
        (2, 1, ["a", "b"], True),
        (2, 2, ["c"], False),
        (2, 3, [], True),
        (3, 1, ["a", "b", "c"], True),
        (4, 1, ["a", "b", "c"], False),
    ],
    ids=str,
)
async def test_all_are_counted_only_where_the_page_does_not_say_how_many_there_are(
    database: Database, size: int, number: int, found: list[str], *, is_counted: bool
) -> None:
    asked: list[str] = []

    async def body(tx: Transaction) -> Paged[Row]:
        observed = ObservedTransaction(tx, lambda sql, _: asked.append(sql))
        return await THINGS.paged(observed, "", "id", (), Page(number, size))

    for thing in "abc":
        await database.write(adding(thing))
    page = await database.read(body)
    assert ([id_ for (id_,) in page.items], page.total) == (found, 3)
    assert any("count(*)" in sql for sql in asked) is is_counted
