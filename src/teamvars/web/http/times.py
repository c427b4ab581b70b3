"""How times are written in answers."""

from datetime import UTC, datetime

import structlog

from teamvars.domain.times import moment

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

log = structlog.get_logger("teamvars")


def timestamp(at: object, row: str) -> str:
    """A time in µs UTC as HCP Terraform writes it: milliseconds and a Z.

    As for `written`, `row` names the row it is of.
    """
    return written(at, row).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def written(at: object, row: str) -> datetime:
    """A stored time, or the nearest one that can be written, which is then logged.

    So a row that somebody broke by hand hides no other, and clients can read the answer.
    """
    found = moment(at)
    if found is not None:
        return found
    log.warning("a stored time cannot be written", row=row)
    return _LAST if isinstance(at, int) and at > 0 else _FIRST
