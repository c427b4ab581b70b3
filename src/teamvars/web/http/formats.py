"""How times, paths and e-mail addresses are written.

The types are for those who read `/openapi.json`: the rules that count are in the domain.
"""

from datetime import UTC, datetime
from typing import Annotated

import structlog
from msgspec import Meta

from teamvars.domain.times import moment

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
# A path of this service, which may stand behind any host.
Path = Annotated[str, Meta(extra_json_schema={"format": "uri-reference"})]
# With letters of every script: JSON Schema's `email` has ASCII alone.
Email = Annotated[str, Meta(extra_json_schema={"format": "idn-email"})]

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
