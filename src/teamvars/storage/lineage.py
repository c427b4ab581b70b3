"""Which store this is, wherever its data is taken."""

from teamvars.storage.database import MissingTable, Transaction


async def find(tx: Transaction) -> str | None:
    """The id; None before the store is initialised."""
    try:
        row = await tx.fetch_one("SELECT id FROM lineage")
    except MissingTable:
        return None
    return None if row is None else row[0]


async def begin(tx: Transaction, id_: str) -> None:
    """Gives the store the id unless it has one."""
    await tx.execute("INSERT INTO lineage (id) VALUES ($1) ON CONFLICT DO NOTHING", id_)
