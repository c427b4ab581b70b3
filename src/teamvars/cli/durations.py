"""Durations as commands take them: `90d`, `12h`, `30m`, `45s`, or `never`."""

import re

from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure

NEVER = "never"

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,9})([dhms])", re.ASCII)


def lifetime(expires: str | None, otherwise: int | None) -> int | None:
    """In µs; None for what never expires."""
    if expires is None:
        return otherwise
    if expires == NEVER:
        return None
    found = _DURATION.fullmatch(expires)
    if found is None or int(found[1]) == 0:
        text = "--expires is never or a duration above zero such as 90d, 12h, 30m or 45s."
        raise Failure(text, USAGE)
    return int(found[1]) * _SECONDS[found[2]] * 1_000_000
