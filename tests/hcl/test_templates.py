import pytest

from teamvars.hcl import evaluate
from tests.hcl.test_errors import refused


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (r'"\n\r\t\"\\"', '\n\r\t"\\'),
        (r'"\u00e9\U0001F600"', "é😀"),
        ('"$${a} %%{b}"', "${a} %{b}"),
        ('"$$${a}"', "$${a}"),
        ('"$ % $$ %% $a {"', "$ % $$ %% $a {"),
    ],
)
def test_an_escape_stands_for_its_character(source: str, value: str) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    "source", [r'"\a"', r'"\u12"', r'"\ud800"', r'"\U00110000"', r'"\$"', '"\\"']
)
def test_another_escape_is_refused(source: str) -> None:
    refused(source)


def test_the_column_of_a_wrong_escape_is_its_own() -> None:
    assert refused(r'"abc\q"').column == 5


def test_strings_and_keys_are_normalised() -> None:
    assert evaluate('{ "e\u0301" = "e\u0301", "\\u0065\\u0301" = "${"e"}\u0301" }') == {"é": "é"}


def test_a_long_run_of_combining_marks_is_parted() -> None:
    assert evaluate('"a' + "\u0301" * 31 + '"').count("\u034f") == 1


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_quoted_string_ends_on_its_line(end: str) -> None:
    refused(f'"a{end}b"')


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('"a${"b"}c"', "abc"),
        ('"${1}${true}"', "1true"),
        ('"a${"b${"c"}"}"', "abc"),
        ('"${ {a = "}"}.a }"', "}"),
        ('"x${1.50}"', "x1.5"),
        ('"x${1e3}"', "x1000"),
    ],
)
def test_an_interpolation_becomes_part_of_the_string(source: str, value: str) -> None:
    assert evaluate(source) == value


def test_a_lone_interpolation_keeps_its_type() -> None:
    assert evaluate('"${[1]}"') == [1]
    assert evaluate('"${null}"') is None
    assert evaluate('" ${~ 1 ~} "') == "1"


@pytest.mark.parametrize("source", ['"a${null}"', '"a${[1]}"', '"${ }"', '"${1 2}"', '"${1"'])
def test_what_is_no_string_does_not_interpolate(source: str) -> None:
    refused(source)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('"%{ if true }a%{ else }b%{ endif }"', "a"),
        ('"%{ if false }a%{ endif }"', ""),
        ('"%{ for x in [1, 2] }${x},%{ endfor }"', "1,2,"),
        ('"%{ for k, v in { a = 1 } }${k}=${v}%{ endfor }"', "a=1"),
        ('"%{ for x in [1, 2] }%{ if x == 2 }${x}%{ endif }%{ endfor }"', "2"),
        ('"%{ if true }${1}%{ endif }"', "1"),
    ],
)
def test_directives_choose_and_repeat(source: str, value: str) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    "source",
    [
        '"%{ if true }"',
        '"%{ else }"',
        '"%{ endif }"',
        '"%{ endfor }"',
        '"%{ if true }%{ else }%{ else }%{ endif }"',
        '"%{ for x in [1] }%{ else }%{ endfor }"',
        '"%{ if true }%{ for x in [1] }%{ endif }%{ endfor }"',
        '"%{ foo }"',
        '"%{ for }"',
        '"%{ if true x }%{ endif }"',
    ],
)
def test_an_unbalanced_directive_is_refused(source: str) -> None:
    refused(source)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('" x ${~ "a" ~} y "', " xay "),
        ('"%{ if true ~} a %{~ endif }"', "a"),
        ('"${1~} \\n x"', "1x"),
        ('<<A\n${"a" ~}\n   b\nA\n', "a   b\n"),
        ('<<A\na\n   ${~ "b"}\nA\n', "a\nb\n"),
    ],
)
def test_a_strip_marker_reaches_the_piece_beside_it(source: str, value: str) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("<<A\na\nb\nA\n", "a\nb\n"),
        ("<<A\nA\n", ""),
        ("<<A\na\nA", "a\n"),
        ("<<A\na\n  A  \n", "a\n"),
        ("<<A\nAB\n A A\nA\n", "AB\n A A\n"),
        ("<<A\r\na\r\nA\r\n", "a\r\n"),
        ('<<A\n\\n " $${x} # c\nA\n', '\\n " ${x} # c\n'),
        ("<<A\n\\$${x} \\%%{y}\nA\n", "\\${x} \\%{y}\n"),
        ("<<A\n${1}A\nA\n", "1A\n"),
        ("<<é\na\né\n", "a\n"),
    ],
)
def test_a_heredoc_holds_its_lines(source: str, value: str) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("<<-A\n  a\n    b\n  A\n", "a\n  b\n"),
        ("<<-A\n  a\n \n  b\nA\n", "a\n \nb\n"),
        ("<<-A\n    ${1}\n  b\nA\n", "  1\nb\n"),
        ("<<-A\n    a\n${1}\nA\n", "    a\n1\n"),
        ("<<-A\n\ta\n  b\nA\n", "a\n b\n"),
    ],
)
def test_a_flush_heredoc_loses_its_common_indentation(source: str, value: str) -> None:
    assert evaluate(source) == value


def test_a_heredoc_ends_an_item_of_an_object() -> None:
    assert evaluate("{ a = <<A\nx\nA\n b = 1 }") == {"a": "x\n", "b": 1}


@pytest.mark.parametrize("source", ["<<A", "<<A\na", "<<A b\nA\n", "<<'A'\nA\n", "<<A\na\rb\nA\n"])
def test_a_wrong_heredoc_is_refused(source: str) -> None:
    refused(source)
