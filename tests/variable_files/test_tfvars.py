"""Definitions of variables as terraform reads them from `.tfvars`."""

import pytest

from teamvars import hcl
from teamvars.hcl import parse as parse_code
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, ParsedFile, parse


def tfvars(content: str) -> ParsedFile:
    return parse(Format.TFVARS, content)


def variables(content: str) -> list[tuple[str, str, bool]]:
    """What a file without a fault defines."""
    found = tfvars(content)
    assert found.faults == ()
    return [(item.key, item.value, item.hcl) for item in found.items]


def places(content: str) -> list[tuple[int, int]]:
    """Where the faults are."""
    return [(fault.line, fault.column) for fault in tfvars(content).faults]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"eu"', "eu"),
        (r'"a\tb \"c\" $${d} %%{e}"', 'a\tb "c" ${d} %{e}'),
        ("<<-EOT\n    one\n      two\n    EOT", "one\n  two\n"),
        ('"a${1 + 1}"', "a2"),
        ('true ? "a" : "b"', "a"),
    ],
)
def test_what_comes_to_a_string_is_that_string(written: str, value: str) -> None:
    assert variables(f"a = {written}\nb = 1\n") == [("a", value, False), ("b", "1", True)]


@pytest.mark.parametrize(
    "written",
    [
        "1",
        "true",
        "null",
        "[1, 2,\n  3 # three\n]",
        '{\n  a = 1 // one\n  "b" : [<<X\ntext\nX\n  ]\n}',
        '"${1}"',
        "[for x in [1, 2] : x * 2]",
        "(\n1\n+\n1\n)",
        '"x" == <<A\nfoo\nA',
    ],
)
def test_anything_else_is_code_as_it_stands_there(written: str) -> None:
    content = f'a = /* said */ {written} # said\nb = "c"\n'.replace("A # said", "A")
    assert variables(content) == [("a", written, True), ("b", "c", False)]
    assert parse_code(written).evaluate() == parse_code(f"({written}\n)").evaluate()


def test_comments_blank_lines_and_other_line_ends_are_no_part_of_it() -> None:
    content = "\ufeff# one\r\n\r\n// two\r\n/* three\r\n */ a = 1\r\n  b-c = 2 // four"
    found = tfvars(content)
    assert found.category is Category.TOOL
    assert [(item.key, item.line, item.column) for item in found.items] == [
        ("a", 5, 5),
        ("b-c", 6, 3),
    ]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("a = var.x", 5),
        ("a = [1, upper(1)]", 9),
        ("a = true ? 1 : var.x", 16),
        ("a = 1 b = 2", 7),
        ("a = 1, b = 2", 6),
        ("a = 1;", 6),
        ("a =", 4),
        ("a", 2),
        ("a : 1", 3),
        ("a.b = 1", 2),
        ('"a" = 1', 1),
        ('  block "x" {}', 3),
        ("block {}", 1),
        ("}", 1),
        ('a = "x', 7),
        ("a = 1 / 0", 7),
        ('a = "\\u0000"', 1),
        ("x" * 129 + " = 1", 1),
        ('a = "\ud800"', 6),
    ],
)
def test_what_is_no_definition_of_a_constant_is_a_fault(line: str, column: int) -> None:
    assert places(f"{line}\n") == [(1, column)]


def test_every_reference_and_call_is_told_at_its_place() -> None:
    content = 'a = {\n  b = var.x\n  c = [for y in local.z : "${y}${f(y)}"]\n}\n'
    assert places(content) == [(2, 7), (3, 17), (3, 34)]


def test_reading_goes_on_after_each_fault_where_a_line_begins_with_a_definition() -> None:
    content = 'a = {\n  b = = 1\n  c = 2\n}\nd = [1,\n\nresource "x" {\n  e = 3\n}\nf = g\nh = 4\n'
    assert places(content) == [(2, 7), (7, 10), (10, 5)]
    assert [item.key for item in tfvars(content).items] == ["h"]


def test_a_name_that_is_defined_twice_is_a_fault() -> None:
    assert places('a = "1"\na = 2\n') == [(2, 1)]
    assert [item.value for item in tfvars('a = "1"\na = 2\n').items] == ["1"]


def test_a_value_that_no_variable_could_hold_is_a_fault() -> None:
    assert places(f'a = 1\nb = "{"x" * (256 * 1024 + 1)}"\n') == [(2, 1)]
    assert places(f"a = 1\nb = [{'1,' * (128 * 1024)}]\n") == [(2, 1)]


def test_values_that_grow_far_larger_than_the_file_end_the_reading() -> None:
    each = ",".join("1" * 250)
    content = "".join(
        f'a{n} = "%{{for a in [{each}]}}{"x" * 1_000}%{{endfor}}"\n' for n in range(100)
    )
    found = tfvars(content)
    assert len(found.faults) == 1
    assert sum(len(item.value) for item in found.items) <= 2 * len(content) + 64 * 1024


HEAVY = "[for a in [{each}] : [for b in [{each}] : [for c in [{each}] : 1][0]][0]][0]".format(
    each=",".join("1" * 100)
)


def test_a_value_that_takes_too_much_work_is_a_fault_at_its_place() -> None:
    found = tfvars(f"a = 1\nb = {HEAVY}\nc = 2\n")
    assert [(one.line, one.column) for one in found.faults] == [(2, 1)]
    assert [item.key for item in found.items] == ["a", "c"]


def test_values_that_take_too_much_work_together_end_the_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hcl, "FEW", 0)
    each = ",".join("1" * 100)
    lines = [f"a{n} = [for a in [{each}] : [for b in [{each}] : 1][0]][0]\n" for n in range(100)]
    found = tfvars("".join(lines))
    assert len(found.faults) == 1
    assert "read up to here" in found.faults[0].detail
    assert 0 < len(found.items) < 50
    assert found.faults[0].line == len(found.items) + 1
