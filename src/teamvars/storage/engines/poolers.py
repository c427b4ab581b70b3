"""Poolers between a node and PostgreSQL: how settings of a session get through one, and whether the
one that is there is of the mode that was said.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec
from asyncpg import exceptions as pg

from teamvars.domain.diagnosis import Pooler
from teamvars.storage.database import StorageMisconfigured, Transaction

# Every statement looks up keys. For a batch of them the planner would else scan whole tables.
_PLANNING = {"jit": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
TIMEOUTS = {"lock_timeout": "5s", "idle_in_transaction_session_timeout": "15s"}
# What a deadline gives up by closing its socket would else go on to its end, beside all others. The
# server looks while a statement runs, and never while a commit waits for its standby.
_GONE = {"client_connection_check_interval": "1s"}
ALWAYS = {"default_transaction_isolation": "read committed", **_PLANNING, **TIMEOUTS, **_GONE}
"""Each value as the server says it, which is asked whether it holds."""
# A table that was small when a statement was planned may be large when it runs, be it of rows that
# are deleted. Commands of the operator do go through whole tables. A bitmap gives up the order of
# its index: for a page of what was taken for a short list, all of a long one would be sorted.
_WHILE_SERVING = {"enable_seqscan": "off", "enable_bitmapscan": "off"}
_OF_COMMANDS = dict.fromkeys(_WHILE_SERVING, "on")
_NAME = {"application_name": "teamvars"}
PREPARED = {"statement_cache_size": 200}
"""Of the driver's options: so many statements are kept prepared on a connection."""
_WANTED = "FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS wanted (name, value)"
_UNSET = f"SELECT name {_WANTED} WHERE current_setting(name) <> value ORDER BY 1"
_SQL_OF_ACCOUNT = f"""
SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), name, value)
{_WANTED}
WHERE NOT EXISTS (
    SELECT FROM pg_db_role_setting AS said
    WHERE said.setrole = (SELECT oid FROM pg_roles WHERE rolname = current_user)
        AND said.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND name || '=' || value = ANY (said.setconfig)
)
"""
_PROCESS = "SELECT pg_backend_pid()"
_TIMES_ASKED = 10
NOT_PREPARED_HERE = (pg.InvalidSQLStatementNameError, pg.DuplicatePreparedStatementError)
"""What the server says of a statement that was prepared in another session of it."""
_REFUSED = "unsupported startup parameter"
"""What PgBouncer says of a setting that a connection begins with."""


class Passage(msgspec.Struct, frozen=True):
    """How connections get their settings through what is in between.

    Without a pooler they begin with them; through one in session mode they set them once they are
    there; through one in transaction mode each transaction sets them, and what a statement of its
    own needs sessions of the account begin with.
    """

    pooler: Pooler
    is_serving: bool

    @property
    def options(self) -> dict[str, Any]:
        """The driver's, of each connection."""
        begins_with = _NAME if self.pooler is not Pooler.NONE else {**_NAME, **self.settings}
        kept = {"statement_cache_size": 0} if self.pooler is Pooler.TRANSACTION else PREPARED
        return {"server_settings": begins_with, **kept}

    @property
    def settings(self) -> Mapping[str, str]:
        """Those of a session, or of each transaction."""
        if self.is_serving:
            return _of_account()
        return ALWAYS | (_OF_COMMANDS if self.pooler is Pooler.TRANSACTION else {})

    @property
    def first(self) -> str:
        """What a connection runs once it is there."""
        if self.pooler is not Pooler.SESSION:
            return ""
        return "; ".join(f"SET {name} = '{value}'" for name, value in self.settings.items())

    @property
    def each(self) -> str:
        """What follows the BEGIN of each transaction."""
        if self.pooler is not Pooler.TRANSACTION:
            return ""
        return "".join(f"; SET LOCAL {name} = '{value}'" for name, value in self.settings.items())

    async def require_fit(self, connection: Any, other: Any) -> None:
        """Raises StorageMisconfigured where the pooler that is there is not the one that was said,
        as two connections show.
        """
        if self.pooler is Pooler.TRANSACTION:
            return  # what keeps to that mode works without a pooler too
        if await _share_processes(connection, other):
            raise self.not_by_transaction()
        rows = await connection.fetch(_UNSET, *_columns(self.settings))
        if rows:
            raise StorageMisconfigured(
                "A pooler is in between, which leaves out what a connection begins with "
                f"({', '.join(name for (name,) in rows)}). Set TEAMVARS_DATABASE_POOLER to its "
                "mode: session or transaction"
            )

    def not_by_transaction(self) -> StorageMisconfigured:
        """What is to be done where sessions are another's with the next transaction."""
        return StorageMisconfigured(
            f"TEAMVARS_DATABASE_POOLER is {self.pooler}, and a pooler in transaction mode is in "
            "between. Set it to: transaction"
        )

    def cause(self, error: Exception) -> Exception:
        """Why the store is of no use, where that is more than the error says."""
        is_elsewhere = (
            isinstance(error, NOT_PREPARED_HERE) and self.pooler is not Pooler.TRANSACTION
        )
        return self.not_by_transaction() if is_elsewhere else error

    def refusal(self, error: pg.ProtocolViolationError) -> StorageMisconfigured | None:
        """What is to be done where a pooler has refused what a connection begins with."""
        if _REFUSED not in str(error):
            return None
        if self.pooler is Pooler.NONE:
            text = "Set TEAMVARS_DATABASE_POOLER to its mode: session or transaction"
        else:
            text = "Take it out of TEAMVARS_DATABASE_URL"
        return StorageMisconfigured(f"A pooler is in between ({error}). {text}")


async def is_through_one(connection: Any) -> bool:
    """Whether a pooler is in between: it says another number of the process that serves one than
    the server does.
    """
    try:
        return bool(connection.get_server_pid() != await connection.fetchval(_PROCESS))
    except NOT_PREPARED_HERE:
        return True


async def _share_processes(connection: Any, other: Any) -> bool:
    """Whether the server's processes serve what comes next, whoever sends it: the same one serves
    both, or not one all the time. Both are asked several times, since beside a busy pooler two may
    meet two processes by chance.
    """
    try:
        asked = [
            (await connection.fetchval(_PROCESS), await other.fetchval(_PROCESS))
            for _ in range(_TIMES_ASKED)
        ]
    except NOT_PREPARED_HERE:
        return True
    mine, its = map(set, zip(*asked, strict=True))
    return not len(mine) == len(its) == 1 or mine == its


async def keeps_statements(connection: Any) -> bool:
    """Whether a pooler in transaction mode prepares statements on whatever process runs them, which
    then know them by names of its own.
    """
    name = f"teamvars_{uuid4().hex}"
    async with connection.transaction():
        prepared = await connection.prepare("SELECT 1", name=name)
        found = "SELECT count(*) FROM pg_prepared_statements WHERE name = $1"
        if not await connection.fetchval(found, prepared.get_name()):
            return True
        await connection.execute(f"DEALLOCATE {name}")
        return False


async def unset(tx: Transaction) -> list[str]:
    """What the account's sessions should have begun with, and this one did not."""
    wanted = _of_account()
    return [f"{name} = {wanted[name]}" for (name,) in await tx.fetch(_UNSET, *_columns(wanted))]


async def set_for_account(tx: Transaction) -> list[str]:
    """Has sessions of this account, in this database, begin with all of it; what that took."""
    statements = [sql for (sql,) in await tx.fetch(_SQL_OF_ACCOUNT, *_columns(_of_account()))]
    for sql in statements:
        await tx.execute(sql)
    return statements


def _of_account() -> dict[str, str]:
    """What its sessions begin with where a pooler lets no connection say it."""
    return ALWAYS | _WHILE_SERVING


def _columns(settings: Mapping[str, str]) -> tuple[Sequence[str], Sequence[str]]:
    return list(settings), list(settings.values())
