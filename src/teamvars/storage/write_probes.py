"""What a node writes to learn whether writes work: as much as needs room, in one row."""

import os

from teamvars.storage.database import Transaction

BYTES = 64 * 1024

_WRITE = """
INSERT INTO write_probes (one, filler) VALUES (1, $1)
ON CONFLICT (one) DO UPDATE SET filler = excluded.filler
"""


async def write(tx: Transaction) -> None:
    """Writes `BYTES`, of which no compression makes fewer."""
    await tx.execute(_WRITE, os.urandom(BYTES))
