"""What is known of the trail elsewhere: heads in a file, as `audit head` prints them, and what an
operator has accepted.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import click

from teamvars.cli.exits import Failure, Misuse
from teamvars.cli.options import option
from teamvars.domain.audit import Head
from teamvars.domain.names import is_safe
from teamvars.services.audit_verification import Place

_PLACE = re.compile(r"(.+):([0-9]{1,19})")


def _head(stream: str, sequence: int, link: str) -> Head:
    """A head as it was printed; ValueError for what no column can hold."""
    if not (is_safe(stream) and 0 <= int(sequence) < 2**63):
        raise ValueError
    return Head(stream, int(sequence), bytes.fromhex(link))


def read_heads(path: Path) -> list[Head]:
    """The heads in a file of them. Fails where it cannot be read, or has something else."""
    try:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [_head(line["stream"], line["sequence"], line["link"]) for line in lines]
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
        raise Misuse(f"{path} is not what 'audit head' prints.") from None


def _places(_: click.Context, __: click.Parameter, texts: Iterable[str]) -> set[Place]:
    found = [_PLACE.fullmatch(text) for text in texts]
    if None in found:
        raise Misuse("--accepted is STREAM:SEQUENCE, as 'audit accept' printed it.")
    return {(one[1], int(one[2])) for one in found if one}


accepted_option = option(
    "--accepted",
    "Pass over what 'audit accept' accepted there; repeatable.",
    multiple=True,
    metavar="STREAM:SEQUENCE",
    callback=_places,
)
