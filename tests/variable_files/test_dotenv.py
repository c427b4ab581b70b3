"""Environment files: what is read, and what is left to whoever wrote it."""

import pytest

from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, ParsedFile, parse


def dotenv(content: str) -> ParsedFile:
    return parse(Format.DOTENV, content)


def values(content: str) -> dict[str, str]:
    """What a file without a fault defines."""
    found = dotenv(content)
    assert found.faults == ()
    assert not any(item.hcl for item in found.items)
    return {item.key: item.value for item in found.items}


def places(content: str) -> list[tuple[int, int]]:
    """Where the faults are."""
    return [(fault.line, fault.column) for fault in dotenv(content).faults]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", ""),
        ("plain", "plain"),
        ("  a b \t ", "a b"),
        ("a # said", "a"),
        (" # said", ""),
        ("a#b", "a#b"),
        ("#b", "#b"),
        ("a=b=c", "a=b=c"),
        ("''", ""),
        ("'a # b' # said", "a # b"),
        ("'$HOME `x` \\n \"'", '$HOME `x` \\n "'),
        ("'two\nlines'", "two\nlines"),
        ('"two\r\nlines"', "two\nlines"),
        (r'"\n\r\t\"\\\$\`"', '\n\r\t"\\$`'),
        ('"it\'s" ', "it's"),
    ],
)
def test_a_value_is_what_stands_there(written: str, value: str) -> None:
    assert values(f"NAME={written}\nNEXT=1\n") == {"NAME": value, "NEXT": "1"}
    assert values(f"NAME={written}") == {"NAME": value}


def test_blank_lines_comments_exports_and_spaces_are_no_part_of_it() -> None:
    content = "\ufeff# said\r\n\r\n  export A=1\r\n\texport\tB = 2\r\nexport=3\r\nexport =4\r\n"
    assert [item.key for item in dotenv(content).items] == ["A", "B", "export"]
    assert places(content) == [(6, 1)]


def test_its_variables_belong_to_the_environment_and_say_where_they_stand() -> None:
    found = dotenv("A='\n\n'\n  export B=2\n")
    assert found.category is Category.ENV
    assert [(item.line, item.column) for item in found.items] == [(1, 1), (4, 10)]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("A=$HOME", 3),
        ("A=x${HOME}", 4),
        ("A=x $(id)", 5),
        ("A=`id`", 3),
        ('A="x $HOME"', 6),
        ('A="`"', 4),
        (r'A="\q"', 4),
        ("A=it's", 5),
        ('A={"a":1}', 4),
        (r"A=C:\x", 5),
        ("A='x", 3),
        ('A="x', 3),
        ('A="x\\"', 3),
        ("A='x'y", 6),
        ("A='x'#y", 6),
        ("A", 1),
        ("export A", 8),
        ("=x", 1),
        ("A B=x", 1),
        ("A" * 129 + "=x", 1),
        ("A=\0", 1),
        ("A=x\ry", 4),
        ("A=\ud800", 3),
    ],
)
def test_what_programs_read_differently_or_not_at_all_is_a_fault(line: str, column: int) -> None:
    assert places(f"{line}\n") == [(1, column)]


def test_a_name_that_is_defined_twice_is_a_fault_and_its_first_value_is_given() -> None:
    found = dotenv("A=1\nB=2\nA=3\n")
    assert [(item.key, item.value) for item in found.items] == [("A", "1"), ("B", "2")]
    assert [(fault.line, fault.column) for fault in found.faults] == [(3, 1)]


def test_reading_goes_on_after_each_fault() -> None:
    content = 'A=$X\nB="$Y $Z"\nC=\'open\nD=4\nE="5" 6\nF=7\n'
    assert places(content) == [(1, 3), (2, 4), (2, 7), (3, 3), (5, 6)]
    assert [item.key for item in dotenv(content).items] == ["D", "F"]


def test_the_fault_of_a_reference_says_how_to_write_a_dollar() -> None:
    (fault,) = dotenv("A=$HOME\n").faults
    assert "single quotation marks" in fault.detail
    assert "HOME" not in fault.detail
