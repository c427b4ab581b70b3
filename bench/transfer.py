"""Many rows at once: filling a store in one transaction, and copying it from engine to engine."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw
import asyncpg

from teamvars import wiring
from teamvars.decisions import Found
from teamvars.domain.access import Caller, WrappedKey
from teamvars.domain.audit import HeldStream
from teamvars.domain.ids import new_id, new_version_id
from teamvars.domain.tokens import HashedToken, Token
from teamvars.domain.variables import StoredVariable, Variable
from teamvars.kernel.variables import Category, value_size
from teamvars.security.chain import Chain
from teamvars.security.keyring import Keyring
from teamvars.security.sealing import DataKey, Sealer
from teamvars.security.tokens import hash_token, new_token
from teamvars.storage import streams, tables, variables
from teamvars.storage.database import Transaction

_SENSITIVE_EVERY = 10
_FILLED_BY_MIGRATIONS = ("schema_migrations", "data_key_generations")


class Bulk:
    """Adds rows of one organization inside one transaction, each with its audit entry."""

    def __init__(self, tx: Transaction, keys: Keyring, caller: Caller) -> None:
        self._tx = tx
        self._sealer = Sealer(keys)
        self._chain = Chain(keys)
        self._caller = caller
        self._now = wiring.clock()

    async def add_variables(self, counts: Mapping[str, int]) -> dict[str, str]:
        """So many variables into each workspace of one organization; returns the first id of each
        that got any.
        """
        row = await self._tx.fetch_one(
            "SELECT organization_id, version, master_key_id, wrapped FROM data_keys "
            "WHERE organization_id = (SELECT organization_id FROM workspaces WHERE id = $1)",
            next(iter(counts)),
        )
        assert row is not None
        data_key = self._sealer.data_key(WrappedKey(*row))
        return {
            id_: await self._fill(id_, count, data_key) for id_, count in counts.items() if count
        }

    async def add_tokens(self, organization_id: str, count: int) -> None:
        """So many tokens of the organization, which nobody will ever show."""
        stream = await self._locked(organization_id)
        for _ in range(count):
            token = Token(new_id("at"), "organization", organization_id, self._now, None, None)
            hashed = HashedToken(token, hash_token(new_token(token.owner_kind)))
            await self._tx.write_each(tables.inserting(hashed, self._now).part)
            details = {"owner": f"organization {organization_id}", "expires-at": None}
            event = Found(self._caller, self._now).event("token.create", token.id, details)
            entry, stream = self._chain.extend(stream, event)
            await streams.append(self._tx, entry, stream)

    async def _locked(self, stream_id: str) -> HeldStream:
        found = self._chain.check((await streams.lock(self._tx, [stream_id]))[stream_id])
        assert isinstance(found, HeldStream)
        return found

    async def _fill(self, workspace_id: str, count: int, data_key: DataKey) -> str:
        stream = await self._locked(workspace_id)
        found = Found(self._caller, self._now)
        first = ""
        for n in range(count):
            variable = _variable(workspace_id, n, self._now)
            plain = value(workspace_id, n)
            sealed = data_key.seal(plain, variable)
            size = value_size(plain)
            await self._tx.write_each(
                variables.inserting(StoredVariable(variable, sealed, size)).part
            )
            details = {
                "key": variable.key,
                "category": variable.category.value,
                "sensitive": variable.sensitive,
                "version-id": variable.version_id,
            }
            event = found.event("variable.create", variable.id, details)
            entry, stream = self._chain.extend(stream, event, stream.usage.plus(1, size))
            await streams.append(self._tx, entry, stream)
            first = first or variable.id
        return first


def key(n: int) -> str:
    """The key of a workspace's variable, counted from 0."""
    return f"variable_{n:04}"


def value(workspace_id: str, n: int) -> str:
    """Its value."""
    return f"value number {n} of {workspace_id}"


async def copy(file: Path, url: str) -> None:
    """Copies every row of the SQLite file into the PostgreSQL database, which has the same schema
    and no rows."""
    source = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    target = await asyncpg.connect(url)
    try:
        for table in _tables(source):
            columns = [row[1] for row in source.execute(f"PRAGMA table_info({table})")]
            rows = source.execute(f"SELECT {', '.join(columns)} FROM {table}")  # noqa: S608
            await target.copy_records_to_table(table, records=map(tuple, rows), columns=columns)
        await target.execute("VACUUM ANALYZE")
    finally:
        await target.close()
        source.close()


def _tables(source: apsw.Connection) -> Iterator[str]:
    """In the order they were made: none refers to a later one."""
    listed = source.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' "
        "AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
    )
    names = (str(row[0]) for row in listed.fetchall())
    return (name for name in names if name not in _FILLED_BY_MIGRATIONS)


def _variable(workspace_id: str, n: int, now: int) -> Variable:
    return Variable(
        id=new_id("var"),
        owner_id=workspace_id,
        key=key(n),
        value=None,
        description=f"What runs need to know, part {n}",
        category=Category.ENV if n % 3 == 0 else Category.TOOL,
        hcl=False,
        sensitive=n % _SENSITIVE_EVERY == _SENSITIVE_EVERY - 1,
        version_id=new_version_id(),
        created_at=now,
    )
