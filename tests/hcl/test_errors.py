import pickle
import traceback

import pytest

from teamvars.hcl import HclError, evaluate, parse

SECRET = "hunter2-swordfish"
FAULTS = [
    f'"{SECRET}',
    f'{{ {SECRET} "x" }}',
    f'["{SECRET}" "{SECRET}"]',
    f'"{SECRET}" + 1',
    f'{{ a = "{SECRET}" }}.{SECRET}',
    f'"{SECRET}\\q"',
    f"<<{SECRET}\nx",
    f"{SECRET}({SECRET})",
    f"{SECRET}.{SECRET}",
    f"{{ {SECRET}.{SECRET} = 1 }}",
    f'"%{{ {SECRET} }}"',
    f'true ? [1] : {{ a = "{SECRET}" }}',
    f"1\n{SECRET} = 2",
]


def refused(source: str) -> HclError:
    with pytest.raises(HclError) as caught:
        evaluate(source)
    return caught.value


def test_an_error_says_where_and_shows_a_caret() -> None:
    assert str(refused("[\n  1 2\n]")) == (
        "line 2, column 5: a tuple lacks a comma or its closing bracket\n    1 2\n      ^"
    )


def test_columns_count_characters() -> None:
    error = refused('["é日😀" 2]')
    assert (error.line, error.column) == (1, 8)


@pytest.mark.parametrize("source", FAULTS)
def test_nothing_but_str_and_name_shows_a_piece_of_the_source(source: str) -> None:
    error = refused(source)
    assert SECRET not in error.message
    assert SECRET not in repr(error)
    assert SECRET not in repr(error.args)


def test_the_name_of_an_unknown_variable_is_kept_apart() -> None:
    error = refused("[1, region]")
    assert error.name == "region"
    assert "region" not in error.message
    assert "region" in str(error)


def test_the_name_of_an_unknown_function_is_kept_apart() -> None:
    assert refused("provider::x::y(1)").name == "provider::x::y"


def test_an_error_survives_pickling_without_the_source() -> None:
    copy = pickle.loads(pickle.dumps(refused(FAULTS[0])))  # noqa: S301 - our own bytes
    assert (copy.line, copy.column) == (1, 19)
    assert SECRET not in repr(copy)


def test_the_excerpt_of_a_long_line_is_short() -> None:
    error = refused("[" + "1, " * 50_000 + "?]")
    assert len(str(error)) < 300
    assert str(error).splitlines()[1][error_caret(error)] == "?"


def error_caret(error: HclError) -> int:
    return str(error).splitlines()[2].index("^")


def test_the_excerpt_holds_no_control_characters() -> None:
    assert "\x1b" not in str(refused('["\x1b[31m" 1]'))


def test_an_internal_error_is_not_chained_to_an_error() -> None:
    error = refused(f'"{SECRET}" + 1')
    assert SECRET not in "".join(traceback.format_exception_only(error)).splitlines()[0]
    assert error.__cause__ is None


def test_an_expression_shows_nothing_of_its_source() -> None:
    assert SECRET not in repr(parse(f'"{SECRET}"'))


@pytest.mark.parametrize("source", ['"\ud800"', "\udfff"])
def test_half_a_surrogate_pair_is_refused(source: str) -> None:
    assert refused(source).line == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("<<é²\nx\né²\n", "a heredoc's marker must be a name"),
        ("(true ? null : [1])[*]", "a splat cannot go through a null"),
        # What they have in common is a list, or a map, of anything: its elements differ.
        ('true ? [[null], [[1], ["a"]]] : [[null]]', "does not convert"),
        (
            'true ? {a = {x = null}, b = {x = [1], y = ["a"]}} : {a = {x = null}}',
            "does not convert",
        ),
    ],
)
def test_what_has_no_value_is_refused(source: str, message: str) -> None:
    assert message in refused(source).message
