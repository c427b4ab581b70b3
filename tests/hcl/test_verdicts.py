"""Verdicts recorded from terraform 1.11: what parses, the first error's line, the value."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("case", recorded("cases.jsonl"))
def test_a_shared_case_has_terraforms_verdict(case: dict[str, Any]) -> None:
    if case["literal"]:
        assert same(evaluate(case["source"]), case["value"])
        return
    if case["valid_syntax"]:
        parse(case["source"])
    with pytest.raises(HclError) as caught:
        evaluate(case["source"]) if case["valid_syntax"] else parse(case["source"])
    assert caught.value.line == case["line"]


@pytest.mark.parametrize("case", recorded("verdicts.jsonl"))
def test_a_recorded_source_has_terraforms_verdict(case: dict[str, Any]) -> None:
    if case["verdict"] == "value":
        assert same(evaluate(case["source"]), case["value"])
        return
    if case["verdict"] == "evaluation":
        parse(case["source"])
    with pytest.raises(HclError) as caught:
        parse(case["source"]).evaluate()
    assert caught.value.line == case["line"]
