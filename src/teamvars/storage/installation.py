"""Which store this is, and the check values by which it knows its keyring."""

from collections.abc import Mapping

from teamvars.storage.database import MissingTable, Transaction


async def find_lineage(tx: Transaction) -> str | None:
    """Which store this is, wherever its data is taken; None before it is initialised."""
    try:
        row = await tx.fetch_one("SELECT id FROM lineage")
    except MissingTable:
        return None
    return None if row is None else row[0]


async def begin_lineage(tx: Transaction, id_: str) -> None:
    """Gives the store the id unless it has one."""
    await tx.execute("INSERT INTO lineage (id) VALUES ($1) ON CONFLICT DO NOTHING", id_)


async def find_checks(tx: Transaction) -> dict[str, tuple[str, bytes]]:
    """Purpose and check value by key id: every key the data needs."""
    rows = await tx.fetch("SELECT id, purpose, check_value FROM keyring_keys")
    return {id_: (purpose, bytes(check)) for id_, purpose, check in rows}


async def insert_checks(tx: Transaction, checks: Mapping[str, tuple[str, bytes]], now: int) -> None:
    """Notes keys of the keyring, before anything is stored under them."""
    for key_id, (purpose, check) in checks.items():
        await tx.execute(
            "INSERT INTO keyring_keys (id, purpose, check_value, created_at) "
            "VALUES ($1, $2, $3, $4)",
            key_id,
            purpose,
            check,
            now,
        )
