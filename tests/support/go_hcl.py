"""HCL as its makers read it."""

from functools import cache
from pkgutil import resolve_name
from typing import Any


class NotHcl(Exception):
    """No HCL, by their parser."""


def read(source: str) -> Any:
    """What a source says; raises `NotHcl`."""
    library = _library()
    try:
        return library.loads(source)
    except library.HCLParseError as error:
        raise NotHcl(str(error)) from error


@cache
def _library() -> Any:
    """Not before somebody asks: it starts threads, which no copy of this process would have."""
    return resolve_name("pygohcl")
