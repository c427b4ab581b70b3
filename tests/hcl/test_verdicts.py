"""Verdicts recorded from terraform 1.11: what parses, the first error's line, the value."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from teamvars.hcl import HclError, evaluate, parse

HERE = Path(__file__).parent


def recorded(name: str) -> list[dict[str, Any]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line, object_hook=_decimal) for line in lines]


def _decimal(entry: dict[str, Any]) -> Any:
    return Decimal(entry["decimal"]) if entry.keys() == {"decimal"} else entry


def same(mine: Any, theirs: Any) -> bool:
    """Whether two values are equal, `1` and `true` being different ones."""
    if isinstance(theirs, list):
        pairs = zip(mine, theirs, strict=False)
        return len(mine) == len(theirs) and all(same(*pair) for pair in pairs)
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    if isinstance(theirs, bool | None | str) or isinstance(mine, bool | None | str):
        return type(mine) is type(theirs) and bool(mine == theirs)
    return Decimal(repr(mine) if isinstance(mine, float) else mine) == Decimal(str(theirs))


def line_of_error(act: Callable[[str], object], source: str) -> int | None:
    """The line that its error names; None where there is no error."""
    try:
        act(source)
    except HclError as error:
        return error.line
    return None


def has_the_value(case: dict[str, Any]) -> bool:
    source = case["source"]
    return line_of_error(evaluate, source) is None and same(evaluate(source), case["value"])


def is_as_shared(case: dict[str, Any]) -> bool:
    if case["literal"]:
        return has_the_value(case)
    source: str = case["source"]
    line: int = case["line"]
    if case["valid_syntax"]:
        return line_of_error(parse, source) is None and line_of_error(evaluate, source) == line
    return line_of_error(parse, source) == line


def is_as_recorded(case: dict[str, Any]) -> bool:
    source = case["source"]
    if case["verdict"] == "value":
        return has_the_value(case)
    parses = case["verdict"] != "evaluation" or line_of_error(parse, source) is None
    return parses and line_of_error(evaluate, source) == case["line"]


# Each as one test: a test of its own costs more than a source does.
def test_shared_cases_have_terraforms_verdict() -> None:
    cases = recorded("cases.jsonl")
    assert cases
    assert [case["source"] for case in cases if not is_as_shared(case)] == []


def test_recorded_sources_have_terraforms_verdict() -> None:
    cases = recorded("verdicts.jsonl")
    assert cases
    assert [case["source"] for case in cases if not is_as_recorded(case)] == []
