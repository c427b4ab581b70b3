"""The check values by which a database knows its keyring."""

from collections.abc import Mapping

from teamvars.storage.database import Transaction


async def find_all(tx: Transaction) -> dict[str, tuple[str, bytes]]:
    """Purpose and check value by key id: every key the data needs."""
    rows = await tx.fetch("SELECT id, purpose, check_value FROM keyring_keys")
    return {id_: (purpose, bytes(check)) for id_, purpose, check in rows}


async def insert_all(tx: Transaction, checks: Mapping[str, tuple[str, bytes]], now: int) -> None:
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


async def uses(tx: Transaction) -> dict[str, int]:
    """How many data keys each master key wraps."""
    rows = await tx.fetch(
        "SELECT master_key_id, count(*) FROM data_keys GROUP BY master_key_id ORDER BY 1"
    )
    return {row[0]: row[1] for row in rows}
