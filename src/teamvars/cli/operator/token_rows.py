"""How commands show tokens: all about each but the token."""

from collections.abc import Sequence

from teamvars import wiring
from teamvars.cli.output import say_rows
from teamvars.domain.times import moment
from teamvars.domain.tokens import IssuedToken


def as_json(issued: Sequence[IssuedToken]) -> list[dict[str, object]]:
    """A row for each: `owner` is its kind and id, `name` what the owner is called."""
    now = wiring.clock()
    return [
        {
            "id": one.token.id,
            "owner": f"{one.token.owner_kind} {one.token.owner_id}",
            "name": one.owner,
            "description": one.token.description,
            "created": _time(one.token.created_at),
            "created-by": one.token.created_by,
            "expires": _time(one.token.expires_at),
            "last-used": _time(one.token.last_used_at),
            "marks": one.marks(now),
        }
        for one in issued
    ]


def say_tokens(issued: Sequence[IssuedToken]) -> None:
    """A line for each, on stdout."""
    now = wiring.clock()
    say_rows(
        [
            (
                one.token.id,
                one.title,
                f"expires {told(one.token.expires_at)}",
                f"last used {told(one.token.last_used_at)}",
                ", ".join(one.marks(now)),
            )
            for one in issued
        ]
    )


def told(at: int | None) -> str:
    """A time in words."""
    return "never" if at is None else _time(at) or "at no time"


def _time(at: int | None) -> str | None:
    """As JSON has it: null for never, and for what is no time (the row is named on stderr)."""
    found = None if at is None else moment(at)
    return None if found is None else f"{found.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
