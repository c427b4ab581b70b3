"""Definitions of variables in JSON, as terraform reads them from `.tfvars.json`."""

import json

import pytest

from teamvars.hcl import evaluate
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, ParsedFile, parse


def tfvars_json(content: str) -> ParsedFile:
    return parse(Format.JSON, content)


def variables(content: str) -> list[tuple[str, str, bool]]:
    """What a file without a fault defines."""
    found = tfvars_json(content)
    assert found.faults == ()
    return [(item.key, item.value, item.hcl) for item in found.items]


def places(content: str) -> list[tuple[int, int]]:
    """Where the faults are."""
    return [(fault.line, fault.column) for fault in tfvars_json(content).faults]


def test_a_string_is_text_in_which_nothing_is_filled_in() -> None:
    content = r'{"a": "${x} %{y} \"\\\/\b\f\n\r\t\u00e9\ud83d\ude00", "b": ""}'
    text = '${x} %{y} "\\/\b\f\n\r\té😀'
    assert variables(content) == [("a", text, False), ("b", "", False)]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("1", "1"),
        ("-2.50e+3", "-2.50e+3"),
        ("123456789012345678901234567890.10", "123456789012345678901234567890.10"),
        ("true", "true"),
        ("null", "null"),
        ("[ ]", "[]"),
        ('{"a" : [1, "x"], "b" :\n{}}', '{"a" = [1, "x"], "b" = {}}'),
        ('["${x} $${y} %{z} $", {"%{k}": "\\u0000\\n"}]', None),
    ],
)
def test_anything_else_is_code_that_comes_to_the_same(written: str, code: str | None) -> None:
    ((_, value, hcl),) = variables('{"a": ' + written + "}")
    assert hcl
    assert code is None or value == code
    assert float_free(evaluate(value)) == float_free(json.loads(written))


def float_free(value: object) -> object:
    return json.loads(json.dumps(value, default=float))


def test_its_variables_are_the_tools_own_and_say_where_they_stand() -> None:
    found = tfvars_json('\ufeff{\r\n  "a": 1,\r\n  "//": "said", "b": [\r\n]}\r\n')
    assert found.category is Category.TOOL
    assert [(item.key, item.line, item.column) for item in found.items] == [
        ("a", 2, 3),
        ("b", 3, 17),
    ]


@pytest.mark.parametrize(
    ("content", "column"),
    [
        ("", 1),
        ("[]", 1),
        ('"a"', 1),
        ("{", 2),
        ('{"a"}', 5),
        ('{"a": }', 7),
        ('{"a": 1,}', 9),
        ('{"a": 1 "b": 2}', 9),
        ('{"a": [1 2]}', 10),
        ('{"a": 01}', 8),
        ('{"a": NaN}', 7),
        ('{"a": True}', 7),
        ('{"a": +1}', 7),
        ("{a: 1}", 2),
        ('{"a": "x}', 7),
        ('{"a": "x\ty"}', 7),
        ('{"a": 1} x', 10),
        ('{"a": "x\\q"}', 9),
        ('{"a": ["x\\ud800"]}', 10),
        ('{"a": "\\ude00\\ud83d"}', 8),
        ('{"a": 1e9999}', 7),
        ('{"a": "\\u0000"}', 2),
        ('{"a b": 1}', 2),
        ('{"": 1}', 2),
        ('{"a": 1, "\\u0061": 2}', 10),
        ('{"a": {"b": 1, "b": 2}}', 16),
        ('{"a": ' + "[" * 65 + "]" * 65 + "}", 71),
        ('{"a": "\ud800"}', 8),
    ],
)
def test_what_is_no_json_or_no_variable_is_a_fault(content: str, column: int) -> None:
    assert places(content) == [(1, column)]


def test_every_fault_of_a_value_is_told_and_the_rest_is_read() -> None:
    content = '{"a": [1e9999,\n "\\q"], "a": 2, "b c": 3, "d": 4}'
    assert places(content) == [(1, 8), (2, 3), (2, 9), (2, 17)]
    assert [item.key for item in tfvars_json(content).items] == ["d"]


def test_the_deepest_that_is_read_is_code_the_service_takes() -> None:
    ((_, value, _),) = variables('{"a": ' + '[{"b": ' * 32 + "1" + "}]" * 32 + "}")
    assert evaluate(value)
