"""What somebody with the database and without the keyring does to a stream."""

# ruff: noqa: S608 - what is put together here is an attack

from teamvars.storage.database import Database, Transaction

_EARLIER = """(SELECT sequence FROM audit_entries WHERE stream_id = $1
    ORDER BY sequence DESC LIMIT 1 OFFSET {})"""
_LINK = "(SELECT link FROM audit_entries WHERE stream_id = $1 AND sequence = streams.sequence)"


async def execute(database: Database, stream: str, *statements: str) -> None:
    """Runs statements about a stream, whose id is $1."""

    async def body(tx: Transaction) -> None:
        for statement in statements:
            await tx.execute(statement, stream)

    await database.write(body)


async def cut(database: Database, stream: str, *, leave: bool = False, many: int = 3) -> None:
    """Puts a stream back by some entries, which are deleted unless they are left in place."""
    await execute(
        database,
        stream,
        f"UPDATE streams SET sequence = {_EARLIER.format(many)} WHERE id = $1",
        f"UPDATE streams SET link = {_LINK} WHERE id = $1",
        *((_DELETE_ABOVE,) if not leave else ()),
    )


_DELETE_ABOVE = """DELETE FROM audit_entries WHERE stream_id = $1
    AND sequence > (SELECT sequence FROM streams WHERE id = $1)"""


async def wipe(database: Database, stream: str) -> None:
    """Deletes all entries of a stream, and says in its row that it never had one."""
    nothing = "UPDATE streams SET sequence = 0, link = {} WHERE id = $1"
    zeros = "decode(repeat('00', 32), 'hex')", "zeroblob(32)"
    await execute(database, stream, "DELETE FROM audit_entries WHERE stream_id = $1")
    engine = (await database.engine()).name
    await execute(database, stream, nothing.format(zeros[engine == "SQLite"]))


class Place:
    """The row of a stream, noted to be put back later."""

    def __init__(self, row: tuple[int, bytes, bytes]) -> None:
        self._row = row

    @classmethod
    async def of(cls, database: Database, stream: str) -> "Place":
        async def body(tx: Transaction) -> tuple[int, bytes, bytes]:
            sql = "SELECT sequence, link, head FROM streams WHERE id = $1"
            row = await tx.fetch_one(sql, stream)
            assert row is not None
            return row[0], row[1], row[2]

        return cls(await database.read(body))

    async def put_back(self, database: Database, stream: str) -> None:
        """The row is as it was; the entries that came since stay."""

        async def body(tx: Transaction) -> None:
            sql = "UPDATE streams SET sequence = $2, link = $3, head = $4 WHERE id = $1"
            await tx.execute(sql, stream, *self._row)

        await database.write(body)
