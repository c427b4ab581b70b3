"""Patterns match alike on each Python that the service runs on."""

import pkgutil
import re
from collections.abc import Iterator
from re import _constants as codes
from re import _parser
from typing import Any

import pytest

import teamvars

PATTERNS = {
    value.pattern: value
    for module in pkgutil.walk_packages(teamvars.__path__, "teamvars.")
    if not module.name.endswith("__main__")
    for value in vars(pkgutil.resolve_name(module.name)).values()
    if isinstance(value, re.Pattern)
}


def repeated(parsed: Any) -> Iterator[Any]:
    """What is repeated possessively in a pattern, wherever in it."""
    for code, said in parsed:
        if code is codes.POSSESSIVE_REPEAT:
            yield said[2]
        for part in said if isinstance(said, tuple) else (said,):
            for one in part if isinstance(part, list) else (part,):
                if isinstance(one, _parser.SubPattern):
                    yield from repeated(one)


def is_alike(part: Any) -> bool:
    """Whether it is an atomic group, or matches one character, which fails as a whole."""
    ((code, _), *more) = part
    return code is codes.ATOMIC_GROUP or (not more and part.getwidth() == (1, 1))


@pytest.mark.parametrize("pattern", ["(?:ab?c)*+", "x(?P<a>(?:a|b?c)++)", "(?:a|(?:ab)?+)"])
def test_a_group_that_some_do_not_match_alike_is_found(pattern: str) -> None:
    assert not all(map(is_alike, repeated(_parser.parse(pattern))))


def test_only_characters_and_atomic_groups_are_repeated_possessively() -> None:
    """Of another group Python 3.11.0 to 3.11.4, which Debian 12 has, goes on behind the part that a
    failed repetition has matched (python/cpython#106052).
    """
    assert len(PATTERNS) > 50
    unlike = [
        pattern
        for pattern, compiled in PATTERNS.items()
        if not all(map(is_alike, repeated(_parser.parse(pattern, compiled.flags & ~re.UNICODE))))
    ]
    assert unlike == []
