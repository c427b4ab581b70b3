"""Which server is the primary now: none that another has taken the place of.

A primary that was frozen or cut off does not know that a standby was promoted meanwhile. Until it
learns of that, it answers reads as if nothing had happened. Each promotion begins a timeline with
the next number, by which whoever has seen the later one tells them apart
(docs/decisions/040-the-newest-timeline.md).
"""

from collections.abc import Awaitable
from typing import Any, NamedTuple

import asyncpg
from asyncpg import exceptions as pg

_ASK = """
SELECT CAST(system_identifier AS TEXT), CASE WHEN pg_is_in_recovery() THEN NULL
    ELSE CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS BIGINT) END
FROM pg_control_system()
"""
_SAYS_NOTHING = (
    pg.FeatureNotSupportedError,
    pg.InsufficientPrivilegeError,
    pg.UndefinedFunctionError,
)
"""What a service answers that keeps its files to itself."""


class NotThePrimary(asyncpg.TargetServerAttributeNotMatched):
    """A server that may not be used, as one that the URL's `target_session_attrs` does not want."""


class Standing(NamedTuple):
    """A server as it was when we connected: a copy of which store, on which timeline. A standby
    has None, and is on that of whatever it follows.
    """

    system: str
    timeline: int | None


class Timelines:
    """The newest timeline that was seen of each store; the memory of one process.

    A store that was moved to another cluster, as by `pg_upgrade`, begins again at 1.
    """

    def __init__(self, *, standbys: bool) -> None:
        """`standbys`: whether a server may be one. What it answers is as old as it lags behind."""
        self._standbys = standbys
        self._newest: dict[str, int] = {}

    async def look(self, connection: Any) -> Standing | None:
        """How its server stands; None where that is not told. Notes a timeline that is newer than
        all before it. Raises NotThePrimary.
        """
        standing = await _told(connection.fetchrow(_ASK))
        self.require(standing)
        if standing is not None and standing.timeline is not None:
            self._newest[standing.system] = standing.timeline
        return standing

    def admits(self, standing: Standing | None) -> bool:
        """Whether no newer timeline of its store was seen."""
        if standing is None or standing.timeline is None:
            return True
        return standing.timeline >= self._newest.get(standing.system, 0)

    def require(self, standing: Standing | None) -> None:
        """Raises NotThePrimary for what is not admitted, and for a standby where none may be."""
        if standing is not None and standing.timeline is None and not self._standbys:
            raise NotThePrimary("it is a standby")
        if standing is not None and not self.admits(standing):
            newest = self._newest[standing.system]
            raise NotThePrimary(
                f"another server has taken its place: its timeline is {standing.timeline}, and "
                f"{newest} was seen"
            )


async def _told(asking: Awaitable[Any]) -> Standing | None:
    try:
        return Standing(*await asking)
    except _SAYS_NOTHING:
        return None
