"""Generations of data keys: which there are, and the wrapped keys of organizations.

A generation has a data key in every organization, which wraps those it needs together.
"""

from teamvars.storage.database import Transaction


async def active_generation(tx: Transaction) -> int:
    """The generation that was activated last, of which new organizations have their data key."""
    return await tx.count(
        "SELECT max(version) FROM data_key_generations WHERE activated_at IS NOT NULL"
    )
