"""`audit verify`, `accept` and `head`."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from teamvars.cli.exits import DIFFERENCES, ERROR, USAGE
from teamvars.cli.operator.audit_entries import as_line
from teamvars.cli.operator.context import run
from teamvars.cli.output import fail, note, say
from teamvars.domain.audit import Break, Head
from teamvars.domain.audit_acceptances import MAX_REASON_CHARACTERS, Acceptance
from teamvars.domain.names import is_safe

_DIGEST = re.compile("[0-9a-f]{64}")
_PLACE = re.compile(r"(.+):([0-9]{1,19})")


def verify(
    context: typer.Context,
    heads: Annotated[
        Path | None, typer.Option(help="What 'audit head' printed once, kept elsewhere.")
    ] = None,
    accepted: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STREAM:SEQUENCE", help="Pass what 'audit accept' accepted there; repeatable."
        ),
    ] = None,
) -> None:
    """Prove that nobody has touched the trail; exit with 3 when somebody has."""
    kept = [] if heads is None else _read_heads(heads)
    passed = {_place(text) for text in accepted or ()}
    checked, breaks = run(context, lambda services, _: services.audit.verify(kept, passed))
    for found in breaks:
        _tell(found)
    if not breaks:
        note(f"{checked} streams hold.")
    if heads is None:
        note(
            "Without --heads nobody can tell whether a stream, or the whole database, was put back "
            "to an earlier state of its own."
        )
    if breaks:
        raise typer.Exit(DIFFERENCES)


def accept(
    context: typer.Context,
    stream: Annotated[str, typer.Argument(help="A stream that 'audit verify' has named.")],
    found: Annotated[
        str, typer.Option(metavar="DIGEST", help="The digest that 'audit verify' found.")
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; the trail records it.")],
) -> None:
    """Let a stream that does not hold go on from what was found of it."""
    if not _DIGEST.fullmatch(found):
        fail("--found is the digest of 64 characters that 'audit verify' prints.", USAGE)
    if not (0 < len(reason) <= MAX_REASON_CHARACTERS and is_safe(reason)):
        fail(f"--reason is a line of at most {MAX_REASON_CHARACTERS} characters.", USAGE)
    if not is_safe(stream):
        fail("STREAM has a control or format character.", USAGE)
    wanted = Acceptance(stream, 0, found, "", reason)
    made = run(context, lambda services, caller: services.audit.accept(caller, wanted))
    say(f"{made.stream_id}:{made.sequence}")
    note(
        "Accepted. 'audit verify' compares what was found with that digest from now on, and exits "
        f"with 3 unless it is told --accepted {made.stream_id}:{made.sequence}."
    )


def head(context: typer.Context) -> None:
    """Print where each stream stands, one JSON object a line, to be kept elsewhere."""
    all_hold = True
    for one, holds in run(context, lambda services, _: services.audit.heads()):
        say(as_line({"stream": one.stream_id, "sequence": one.sequence, "link": one.link}))
        if not holds:
            note(f"teamvars: stream {one.stream_id} does not hold; see 'teamvars audit verify'.")
            all_hold = False
    if not all_hold:
        raise typer.Exit(ERROR)


def _tell(found: Break) -> None:
    say(f"{found.stream_id} entry {found.sequence}: {found.reason}")
    if found.found is not None:
        say(f"{found.stream_id} found: {found.found}")


def _place(text: str) -> tuple[str, int]:
    found = _PLACE.fullmatch(text)
    if found is None:
        fail("--accepted is STREAM:SEQUENCE, as 'audit accept' has printed it.", USAGE)
    return found[1], int(found[2])


def _head(stream: str, sequence: int, link: str) -> Head:
    """A head as it was printed; ValueError for what no column can hold."""
    if not (is_safe(stream) and 0 <= int(sequence) < 2**63):
        raise ValueError
    return Head(stream, int(sequence), bytes.fromhex(link))


def _read_heads(path: Path) -> list[Head]:
    try:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [_head(line["stream"], line["sequence"], line["link"]) for line in lines]
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError):
        fail(f"{path} is not what 'audit head' prints.", USAGE)
