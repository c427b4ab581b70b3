"""Audit entries on stdout: as lines of JSON, or as a table for people."""

import json
from collections.abc import Iterable, Mapping, Sequence

from teamvars.cli.output import note, say
from teamvars.domain.audit import AuditEntry
from teamvars.domain.audit_names import AuditNames
from teamvars.domain.names import escaped
from teamvars.domain.times import moment

_HEADINGS = ("TIME", "ACTOR", "ADDRESS", "ACTION", "STREAM", "SUBJECT", "CHANGED")
_UNKNOWN = "?"
"""Stands for what somebody has touched so that it cannot be shown."""


def print_entry(entry: AuditEntry, **more: object) -> bool:
    """Prints an entry, and whatever of it can be shown when somebody has touched its row.

    Such a row is named on stderr, what cannot be shown is null, and what stands there instead is
    under `touched`. Returns whether the entry is whole.
    """
    faulty = entry.faulty()
    shown = entry._asdict() | dict.fromkeys(faulty)
    fields = {
        "at": _time(entry),
        "stream": shown["stream_id"],
        "sequence": shown["sequence"],
        "actor": {"type": shown["actor_kind"], "id": shown["actor_id"]},
        "token": shown["token_id"],
        "request": shown["request_id"],
        "address": shown["address"],
        "action": shown["action"],
        "subject": {"type": shown["subject_type"], "id": shown["subject_id"]},
        "details": entry.read_details(),
        **more,
    }
    if faulty:
        fields["touched"] = {name: getattr(entry, name) for name in faulty}
    say(as_line(fields))
    return _note(entry, faulty)


def names_in(entry: AuditEntry, names: AuditNames) -> dict[str, str | None]:
    """What the ids of an entry stand for; no part of what is authenticated."""
    return {
        "actor": names.of_actor(entry),
        "stream": names.of_stream(entry),
        "subject": names.of_subject(entry),
    }


def print_table(entries: Iterable[AuditEntry], names: AuditNames) -> bool:
    """Prints entries below one another, an id where there is no name. Returns as `print_entry`."""
    rows: list[tuple[str, ...]] = [_HEADINGS]
    is_whole = True
    for entry in entries:
        is_whole &= _note(entry, entry.faulty())
        rows.append(_row(entry, names))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())
    return is_whole


def as_line(fields: Mapping[str, object]) -> str:
    """A line of JSON; bytes are hexadecimal."""
    return json.dumps(fields, ensure_ascii=False, default=bytes.hex)


def _row(entry: AuditEntry, names: AuditNames) -> tuple[str, ...]:
    named = names_in(entry, names)
    changed = (entry.read_details() or {}).get("changed", ())
    return tuple(
        escaped(cell) if isinstance(cell, str) else _UNKNOWN
        for cell in (
            _time(entry),
            f"{entry.actor_kind} {named['actor'] or entry.actor_id}",
            "" if entry.address is None else entry.address,
            entry.action,
            named["stream"] or entry.stream_id,
            f"{entry.subject_type} {named['subject'] or entry.subject_id}",
            ", ".join(map(str, changed)) if isinstance(changed, Sequence) else None,
        )
    )


def _time(entry: AuditEntry) -> str | None:
    at = moment(entry.at)
    return None if at is None else at.isoformat()


def _note(entry: AuditEntry, faulty: Sequence[str]) -> bool:
    """Names a row that somebody has touched. Returns whether it is whole."""
    if faulty:
        note(
            f"teamvars: entry {entry.sequence} of stream {entry.stream_id} was touched: "
            f"{', '.join(faulty)}"
        )
    return not faulty
