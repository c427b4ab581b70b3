"""Globs of keys: `*` stands for any characters, `?` for one, and all others for themselves."""

import re
from collections.abc import Collection, Iterable, Sequence

_INNER = re.compile(r"[*?]")
_STARS = re.compile(r"\*+")


class Globs:
    """Several at once. A key costs one look at all that are whole keys, one at all beginnings
    (`X*`), one at each of the others, and one run of an expression made of those with a `?`: these
    alone have to be compiled.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        every = list(dict.fromkeys(globs))
        others = [glob for glob in every if wildcards_within([glob])]
        simple = [glob for glob in every if not wildcards_within([glob])]
        self._keys = frozenset(glob for glob in simple if not glob.endswith("*"))
        self._beginnings = tuple(glob[:-1] for glob in simple if glob.endswith("*"))
        self._pieces = [_STARS.split(glob) for glob in others if "?" not in glob]
        asking = [_expression(glob) for glob in others if "?" in glob]
        self._asking = re.compile("|".join(asking), re.DOTALL) if asking else None

    def match(self, key: str) -> bool:
        """Whether one of them means the key."""
        if key in self._keys or key.startswith(self._beginnings):
            return True
        if any(_fit(pieces, key) for pieces in self._pieces):
            return True
        return self._asking is not None and self._asking.fullmatch(key) is not None


def wildcards_within(globs: Collection[str]) -> int:
    """How many `*` and `?` there are but for one `*` at the end of each: the cost of a key."""
    return sum(len(_INNER.findall(glob.removesuffix("*"))) for glob in globs)


def _fit(pieces: Sequence[str], key: str) -> bool:
    """Whether a key is these pieces with anything between them. Each is where it is first found
    behind those before it: elsewhere it would only leave less for the next ones.
    """
    first, *middle, last = pieces
    if not (key.startswith(first) and key.endswith(last)):
        return False
    at, end = len(first), len(key) - len(last)
    for piece in middle:
        found = key.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end


def _expression(glob: str) -> str:
    """What matches the same. A star takes as little as what follows it up to the next one allows,
    and never tries another place: the groups are atomic.
    """
    first, *rest = (_without_stars(piece) for piece in _STARS.split(glob))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in middle) + f".*{last}"


def _without_stars(piece: str) -> str:
    return ".".join(map(re.escape, piece.split("?")))
