"""`audit verify`, `accept` and `head`."""

import json
import re
import sys
from pathlib import Path

import click

from teamvars.cli.exits import DIFFERENCES, ERROR, USAGE, Failure
from teamvars.cli.operator.audit import as_line
from teamvars.cli.operator.context import run
from teamvars.cli.output import note, say
from teamvars.domain.audit import Break, Head
from teamvars.domain.audit_acceptances import MAX_REASON_CHARACTERS, Acceptance
from teamvars.domain.names import is_safe

_DIGEST = re.compile("[0-9a-f]{64}")
_PLACE = re.compile(r"(.+):([0-9]{1,19})")


@click.command()
@click.option("--heads", type=Path, help="A file with the output of 'audit head', kept elsewhere.")
@click.option(
    "--accepted",
    multiple=True,
    metavar="STREAM:SEQUENCE",
    help="Pass over what 'audit accept' accepted there; repeatable.",
)
def verify(heads: Path | None, accepted: tuple[str, ...]) -> None:
    """Prove that nobody has altered the trail; exit with 3 if somebody has."""
    kept = [] if heads is None else _read_heads(heads)
    passed = {_place(text) for text in accepted}
    checked, breaks = run(lambda services, _: services.audit.verify(kept, passed))
    for found in breaks:
        _tell(found)
    if not breaks:
        note(f"{checked} streams verify.")
    if heads is None:
        note(
            "Without --heads this cannot tell whether a stream, or the whole database, was put "
            "back to an earlier state."
        )
    if breaks:
        sys.exit(DIFFERENCES)


@click.command()
@click.argument("stream", help="A stream that 'audit verify' named.")
@click.option(
    "--found", required=True, metavar="DIGEST", help="The digest that 'audit verify' printed."
)
@click.option("--reason", required=True, metavar="TEXT", help="Why; the trail records it.")
def accept(stream: str, found: str, reason: str) -> None:
    """Let a stream go on although somebody has altered it, from what was found."""
    if not _DIGEST.fullmatch(found):
        raise Failure("--found is the digest of 64 characters that 'audit verify' prints.", USAGE)
    if not (0 < len(reason) <= MAX_REASON_CHARACTERS and is_safe(reason)):
        raise Failure(f"--reason is a line of at most {MAX_REASON_CHARACTERS} characters.", USAGE)
    if not is_safe(stream):
        raise Failure("STREAM has a control or format character.", USAGE)
    wanted = Acceptance(stream, 0, found, "", reason)
    made = run(lambda services, caller: services.audit.accept(caller, wanted))
    say(f"{made.stream_id}:{made.sequence}")
    note(
        "Accepted. 'audit verify' compares it with that digest from now on, and exits with 3 "
        f"unless you give --accepted {made.stream_id}:{made.sequence}."
    )


@click.command()
def head() -> None:
    """Print the head of each stream, one JSON object a line, to be kept elsewhere."""
    all_hold = True
    for one, holds in run(lambda services, _: services.audit.heads()):
        say(as_line({"stream": one.stream_id, "sequence": one.sequence, "link": one.link}))
        if not holds:
            note(f"teamvars: stream {one.stream_id} does not verify; see 'teamvars audit verify'.")
            all_hold = False
    if not all_hold:
        sys.exit(ERROR)


def _tell(found: Break) -> None:
    say(f"{found.stream_id} entry {found.sequence}: {found.reason}")
    if found.found is not None:
        say(f"{found.stream_id} found: {found.found}")


def _place(text: str) -> tuple[str, int]:
    found = _PLACE.fullmatch(text)
    if found is None:
        raise Failure("--accepted is STREAM:SEQUENCE, as 'audit accept' printed it.", USAGE)
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
        raise Failure(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Failure(f"{path} is not what 'audit head' prints.", USAGE) from None
