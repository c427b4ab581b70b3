"""Globs of keys: `*` stands for any characters, `?` for one, and all others for themselves."""

import re
from collections.abc import Collection, Iterable

_INNER = re.compile(r"[*?]")


class Globs:
    """Several at once. A key costs one look at all that are whole keys, one at all beginnings
    (`X*`) and one run of an expression made of the others, which alone has to be compiled.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        every = list(dict.fromkeys(globs))
        others = [glob for glob in every if wildcards_within([glob])]
        simple = [glob for glob in every if not wildcards_within([glob])]
        self._keys = frozenset(glob for glob in simple if not glob.endswith("*"))
        self._beginnings = tuple(glob[:-1] for glob in simple if glob.endswith("*"))
        self._others = re.compile("|".join(map(_expression, others)), re.DOTALL) if others else None

    def match(self, key: str) -> bool:
        """Whether one of them means the key."""
        if key in self._keys or key.startswith(self._beginnings):
            return True
        return self._others is not None and self._others.fullmatch(key) is not None


def wildcards_within(globs: Collection[str]) -> int:
    """How many `*` and `?` there are but for one `*` at the end of each: the cost of a key."""
    return sum(len(_INNER.findall(glob.removesuffix("*"))) for glob in globs)


def _expression(glob: str) -> str:
    """What matches the same. A star takes as little as what follows it up to the next one allows,
    and never tries another place: the groups are atomic.
    """
    first, *rest = (_without_stars(piece) for piece in re.split(r"\*+", glob))
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in middle) + f".*{last}"


def _without_stars(piece: str) -> str:
    return ".".join(map(re.escape, piece.split("?")))
