"""`audit list`, `export`, `verify`, `accept` and `head`."""

import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path

import click

from teamvars import wiring
from teamvars.cli.exits import DIFFERENCES, ERROR, Failure, Misuse
from teamvars.cli.operator.context import is_over_soon, run
from teamvars.cli.options import argument, command, json_flag, option, wants_json
from teamvars.cli.output import Row, aligned, note, say
from teamvars.domain.access import Caller
from teamvars.domain.audit import (
    MAX_REASON_CHARACTERS,
    Acceptance,
    AuditEntry,
    AuditQuery,
    Break,
    Head,
    Position,
)
from teamvars.domain.audit_names import AuditNames
from teamvars.domain.errors import Refusal
from teamvars.domain.names import is_safe
from teamvars.domain.times import microseconds, moment
from teamvars.services.audit_verification import Place
from teamvars.storage.engines.outages import reason

FOLLOW_SECONDS = 1.0
_CURSOR = re.compile(r"(-?[0-9]{1,19})/(.+)/([0-9]{1,19})")
_MOST = 2**63 - 1  # what a column holds
_SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_DURATION = re.compile(r"([0-9]{1,6})([wdhms])")
_HEADINGS = ("TIME", "ACTOR", "ADDRESS", "ACTION", "STREAM", "SUBJECT", "CHANGED")
_UNKNOWN = "?"
"""Stands for what somebody has touched so that it cannot be shown."""
_ACCEPTED = re.compile(r"(.+):([0-9]{1,19})")
_DIGEST = re.compile("[0-9a-f]{64}")


@command
@option("--limit", "How many entries.", type=click.IntRange(min=1, max=10_000), default=50)
@option("--actor", "Only by this user, organization, ORG/TEAM, id or operator:ACCOUNT.")
@option("--action", "Such as variable.create.")
@option("--request", "Only of the request with this X-Request-Id, as in the log.")
@option("--subject", "Only to things with this name, key or id.")
@option("--workspace", "In or to this ORG/WORKSPACE, or id.")
@option("--set", "In or to this ORG/SET, or id.")
@option("--team", "In or to this ORG/TEAM, or id.")
@option("--organization", "In or to this organization, by name or id, and all in it.")
@option("--stream", "Only of the stream with this id.")
@option("--since", "Since then: 2d, 12h, 30m, or 2030-12-31T23:00Z.")
@option("--until", "Before then, written as --since.")
@option("--before", "The cursor of the last entry seen.")
@json_flag("Print lines of JSON on a terminal too.")
def list_(
    limit: int,
    since: str | None,
    until: str | None,
    before: str | None,
    **texts: str | None,
) -> None:
    """Show the newest entries: a table on a terminal, else one JSON object a line."""
    for name, text in texts.items():
        if text is not None and not is_safe(text):
            raise Misuse(f"--{name} has an invisible control character.")
    since_then, until_then = _moment("--since", since), _moment("--until", until)
    position = None if before is None else _position(before)

    async def find(services: wiring.Services, _: Caller) -> tuple[list[AuditEntry], AuditNames]:
        now = services.database.now()  # by which entries are dated
        query = AuditQuery(**texts, since=since_then(now), until=until_then(now), before=position)
        return await services.audit.find(limit, query)

    found, names = run(find)
    if wants_json() or not sys.stdout.isatty():
        shown = [
            print_entry(entry, names=names_in(entry, names), cursor=_cursor(entry))
            for entry in found
        ]
        is_whole = all(shown)
    else:
        is_whole = print_table(found, names)
        if len(found) == limit:
            note(f"For older entries: --before {_cursor(found[-1])}")
    if not is_whole:
        sys.exit(ERROR)


@command
@option("--follow/--no-follow", "Continue with new entries until Ctrl-C.")
def export(follow: bool) -> None:
    """Print all entries, one JSON object a line, oldest first within each stream.

    With --follow it waits for a store that is away, and goes on where it was. Started again, it
    begins from the start of the trail.
    """
    touched = 0

    async def work(services: wiring.Services, _: Caller) -> None:
        nonlocal touched
        async for entry in _entries(services, follow=follow):
            links = {"previous": entry.previous, "link": entry.link}
            touched += not print_entry(entry, version=entry.version, key=entry.key_id, **links)

    # Ctrl-C is how one ends to follow; without that what was printed is a part.
    with suppress(KeyboardInterrupt) if follow else nullcontext():
        run(work)
    if touched:
        sys.exit(ERROR)


async def _entries(services: wiring.Services, *, follow: bool) -> AsyncIterator[AuditEntry]:
    """All that there are; with `follow` those as well that come later, through outages of the
    store, each of which is noted.
    """
    known: dict[str, int] = {}
    is_away = False
    while True:
        try:
            async for entry in services.audit.export(known):
                yield entry
            is_away = False
        except Refusal as refusal:
            if not (follow and is_over_soon(refusal)):
                raise
            if not is_away:
                why = reason(refusal.__cause__ or refusal)
                note(f"teamvars: storage is unavailable and waited for: {why}")
            is_away = True
        if not follow:
            return
        await asyncio.sleep(FOLLOW_SECONDS)


def _cursor(entry: AuditEntry) -> str:
    return f"{entry.at}/{entry.stream_id}/{entry.sequence}"


def _moment(option: str, said: str | None) -> Callable[[int], int | None]:
    """When that is, in µs UTC, by what time it is: so long ago, or a time of ISO 8601, which is UTC
    without a zone.
    """
    if said is None:
        return lambda _: None
    if found := _DURATION.fullmatch(said):
        ago = int(found[1]) * _SECONDS[found[2]] * 1_000_000
        return lambda now: now - ago
    try:
        at = microseconds(datetime.fromisoformat(said))
        return lambda _: at
    except ValueError:
        raise Misuse(
            f"{option} is a duration such as 2d, 12h or 30m, or a time of ISO 8601."
        ) from None


def _position(cursor: str) -> Position:
    found = _CURSOR.fullmatch(cursor)
    if not found or max(abs(int(found[1])), int(found[3])) > _MOST or not is_safe(cursor):
        raise Misuse("--before is the cursor of an entry that 'audit list' printed.")
    return Position(int(found[1]), found[2], int(found[3]))


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
    rows: list[Row] = [_HEADINGS]
    is_whole = True
    for entry in entries:
        is_whole &= _note(entry, entry.faulty())
        named = names_in(entry, names)
        changed = (entry.read_details() or {}).get("changed", ())
        cells = (
            _time(entry),
            f"{entry.actor_kind} {named['actor'] or entry.actor_id}",
            "" if entry.address is None else entry.address,
            entry.action,
            named["stream"] or entry.stream_id,
            f"{entry.subject_type} {named['subject'] or entry.subject_id}",
            ", ".join(map(str, changed)) if isinstance(changed, Sequence) else None,
        )
        rows.append([cell if isinstance(cell, str) else _UNKNOWN for cell in cells])
    for line in aligned(rows):
        say(line)
    return is_whole


def as_line(fields: Mapping[str, object]) -> str:
    """A line of JSON; bytes are hexadecimal."""
    return json.dumps(fields, ensure_ascii=False, default=bytes.hex)


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


def _head(stream: str, sequence: int, link: str) -> Head:
    """A head as it was printed; ValueError for what no column can hold."""
    if not (is_safe(stream) and 0 <= int(sequence) < 2**63):
        raise ValueError
    return Head(stream, int(sequence), bytes.fromhex(link))


def read_heads(path: Path) -> list[Head]:
    """The heads in a file of them. Fails where it cannot be read, or has something else."""
    try:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        found = [_head(line["stream"], line["sequence"], line["link"]) for line in lines]
        if not found:  # every store has one
            raise ValueError
        return found
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
        raise Misuse(f"{path} is not what 'audit head' prints.") from None


def _places(_: click.Context, __: click.Parameter, texts: Iterable[str]) -> set[Place]:
    found = [_ACCEPTED.fullmatch(text) for text in texts]
    if None in found:
        raise Misuse("--accepted is STREAM:SEQUENCE, as 'audit accept' printed it.")
    return {(one[1], int(one[2])) for one in found if one}


accepted_option = option(
    "--accepted",
    "Pass over what 'audit accept' accepted there.",
    multiple=True,
    metavar="STREAM:SEQUENCE",
    callback=_places,
)


@command
@option("--heads", "A file with the output of 'audit head', kept elsewhere.", type=Path)
@accepted_option
def verify(heads: Path | None, accepted: Collection[Place]) -> None:
    """Prove that nobody has altered the trail; exit with 3 if somebody has."""
    kept = [] if heads is None else read_heads(heads)

    async def prove(services: wiring.Services, _: Caller) -> tuple[int, list[Break]]:
        # SQLite reads all of it in one step of the event loop, and asyncio lets it end that first.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return await services.audit.verify(kept, accepted)

    checked, breaks = run(prove)
    for found in breaks:
        say(f"{found.stream_id} entry {found.sequence}: {found.reason}")
        if found.found is not None:
            say(f"{found.stream_id} found: {found.found}")
    if not breaks:
        note(f"{checked} streams verify.")
    if heads is None:
        note(
            "Without --heads this cannot tell whether a stream, or the whole database, was put "
            "back to an earlier state."
        )
    if breaks:
        sys.exit(DIFFERENCES)


@command
@argument("stream", "A stream that 'audit verify' named.")
@option("--found", "The digest that 'audit verify' printed.", required=True, metavar="DIGEST")
@option("--reason", "Why; the trail records it.", required=True, metavar="TEXT")
def accept(stream: str, found: str, reason: str) -> None:
    """Let a stream go on although somebody has altered it, from what was found."""
    if not _DIGEST.fullmatch(found):
        raise Misuse("--found is the digest of 64 characters that 'audit verify' prints.")
    if not (0 < len(reason) <= MAX_REASON_CHARACTERS and is_safe(reason)):
        raise Misuse(f"--reason is a line of at most {MAX_REASON_CHARACTERS} characters.")
    if not is_safe(stream):
        raise Misuse("STREAM has a control or format character.")
    wanted = Acceptance(stream, 0, found, "", reason)
    made = run(lambda services, caller: services.audit.accept(caller, wanted))
    say(f"{made.stream_id}:{made.sequence}")
    note(
        "Accepted. 'audit verify' compares it with that digest from now on, and exits with 3 "
        f"unless you give --accepted {made.stream_id}:{made.sequence}."
    )


@command
def head() -> None:
    """Print the head of each stream, one JSON object a line, to be kept elsewhere."""
    all_hold = True
    for one, holds in run(lambda services, _: services.audit.heads()):
        say(one.line)
        if not holds:
            note(f"teamvars: stream {one.stream_id} does not verify; see 'teamvars audit verify'.")
            all_hold = False
    if not all_hold:
        sys.exit(ERROR)
