"""Heads of streams that were kept in a file, as `audit head` prints them."""

import json
from pathlib import Path

from teamvars.cli.exits import Failure, Misuse
from teamvars.domain.audit import Head
from teamvars.domain.names import is_safe


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
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Misuse(f"{path} is not what 'audit head' prints.") from None
