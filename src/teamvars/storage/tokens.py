"""Tokens as rows: hashes, never the tokens."""

from collections.abc import Mapping

from teamvars.domain.errors import not_found
from teamvars.domain.pages import Page, Paged
from teamvars.domain.tokens import Token, TokenOwner
from teamvars.storage.database import Row, Transaction
from teamvars.storage.pages import Listing

COLUMNS = (
    "tokens.id, tokens.user_id, tokens.team_id, tokens.organization_id, tokens.created_at, "
    "tokens.expires_at, tokens.last_used_at, tokens.description, tokens.created_by"
)


async def of_owner(tx: Transaction, owner: TokenOwner) -> list[Token]:
    """All tokens of one owner, expired ones included, oldest first."""
    rows = await tx.fetch(
        f"SELECT {COLUMNS} FROM tokens WHERE {owner.kind}_id = $1 ORDER BY created_at, id",
        owner.id,
    )
    return [from_row(row) for row in rows]


async def page_of_owner(tx: Transaction, owner: TokenOwner, page: Page) -> Paged[Token]:
    """A page of the tokens of one owner, as `of_owner`."""
    source = f"tokens WHERE {owner.kind}_id = $1"
    listing = Listing(COLUMNS, source, "created_at, id", [owner.id])
    return await listing.fetch(tx, page, from_row)


async def count_live(tx: Transaction, owner: TokenOwner, now: int) -> int:
    """How many tokens of one owner can be used."""
    row = await tx.fetch_one(
        f"SELECT count(*) FROM tokens WHERE {owner.kind}_id = $1 "
        "AND (expires_at IS NULL OR expires_at > $2)",
        owner.id,
        now,
    )
    assert row is not None
    count: int = row[0]
    return count


async def get(tx: Transaction, token_id: str) -> Token:
    """One token. Refuses: not found."""
    row = await tx.fetch_one(f"SELECT {COLUMNS} FROM tokens WHERE id = $1", token_id)
    if row is None:
        raise not_found()
    return from_row(row)


async def note_uses(tx: Transaction, uses: Mapping[str, int]) -> None:
    """Stores when tokens were last used, in µs UTC; in id order, so that nodes cannot deadlock."""
    for token_id in sorted(uses):
        await tx.execute(
            "UPDATE tokens SET last_used_at = $2 "
            "WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)",
            token_id,
            uses[token_id],
        )


def from_row(row: Row) -> Token:
    """The token of a row with the columns of `COLUMNS`."""
    kinds = ("user", "team", "organization")
    owners = ((kind, id_) for kind, id_ in zip(kinds, row[1:4], strict=True) if id_)
    kind, owner_id = next(owners, ("nobody", ""))  # only where the row was altered by hand
    return Token(row[0], kind, owner_id, *row[4:9])
