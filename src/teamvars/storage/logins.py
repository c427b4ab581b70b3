"""Programs that wait to be approved, as rows."""

from collections.abc import Collection, Sequence

from teamvars.domain.logins import Login
from teamvars.storage import tables
from teamvars.storage.database import Lookup, Row, Transaction, each

MOST_OPEN = 4096
"""So many wait at a time for somebody to type their code; whoever asks for one needs no token."""
_LEVELED_AT_ONCE = 256
_SWEPT_AT_ONCE = 500
_COLUMNS = tuple(tables.TABLES[Login].columns)


def _login(row: Row) -> Login:
    """The program of a row with these columns."""
    read = dict(zip(_COLUMNS, row, strict=True))
    return Login(**read | {"denied": bool(read["denied"])})


# Asked by whoever has no token too, and so for all of them at once.
_BY = {
    column: Lookup.of(f"SELECT {', '.join(_COLUMNS)} FROM logins WHERE {column} = $1", type_)
    for column, type_ in {"id": "TEXT", "user_code": "TEXT", "code_hash": "BYTEA"}.items()
}
# The oldest of those networks that have the most, down to where all have as many; but none that was
# approved since this began to wait for it.
_LEVEL = """DELETE FROM logins WHERE token_id IS NULL AND id IN (
    SELECT id FROM (
        SELECT id, created_at,
            row_number() OVER (PARTITION BY network ORDER BY created_at DESC, id DESC) AS place
        FROM logins WHERE token_id IS NULL
    ) AS ranked
    ORDER BY place DESC, created_at, id LIMIT $1
)"""
# But for rows whose id somebody has taken away, which SQLite allows: by none are they found again.
_EXPIRED = "SELECT id FROM logins WHERE expires_at <= $1 AND id IS NOT NULL"


async def find(tx: Transaction, by: str, value: str | bytes) -> Login | None:
    """The program that is found `by` a column of which no two have the same."""
    row = await tx.look_up(_BY[by], value)
    return None if row is None else _login(row)


async def begin(tx: Transaction, some: Sequence[Login]) -> None:
    """Some programs begin to wait. Where more would than may, those go for them that one network
    has more of than others: whoever floods drives out their own. Raises Taken.
    """
    waiting = await tx.count("SELECT count(*) FROM logins WHERE token_id IS NULL")
    if waiting + len(some) > MOST_OPEN:
        await tx.execute(_LEVEL, _LEVELED_AT_ONCE)
    for login in some:
        made = tables.inserting(login, login.created_at)
        await tx.execute(made.sql, *made.args)


async def note_polls(
    tx: Transaction, login_ids: Collection[str], now: int, before: int
) -> set[str]:
    """Notes that some programs have asked, and returns the ids of those that have not since that
    time.
    """
    return set(
        await tx.column(
            "UPDATE logins SET polled_at = $2 "
            "WHERE id IN {each $1} AND (polled_at IS NULL OR polled_at <= $3) RETURNING id",
            each(login_ids),
            now,
            before,
        )
    )


async def forget_expired(tx: Transaction, before: int) -> None:
    """Removes some of those that expired before that time."""
    some = f"{_EXPIRED} LIMIT {_SWEPT_AT_ONCE}"
    await tx.execute(f"DELETE FROM logins WHERE id IN ({some})", before)


async def has_expired(tx: Transaction, before: int) -> bool:
    """Whether there are any."""
    return await tx.fetch_one(f"{_EXPIRED} LIMIT 1", before) is not None
