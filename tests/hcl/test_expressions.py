"""The grammar and the rules of evaluation, one sentence each."""

from typing import Any

import pytest

from teamvars.hcl import HclError, evaluate, parse
from tests.hcl.test_errors import refused


@pytest.mark.parametrize(
    ("source", "value"), [("null", None), ("true", True), ("false", False), ('"a"', "a")]
)
def test_a_literal_is_its_value(source: str, value: Any) -> None:
    assert evaluate(source) is value or evaluate(source) == value


def test_exactly_one_expression_is_accepted() -> None:
    assert refused("1\ny = 2").line == 2


def test_a_newline_is_space_outside_objects() -> None:
    assert evaluate("\n1\n+\n2\n") == 3


def test_a_newline_in_an_object_ends_an_item() -> None:
    assert evaluate("{ a = 1\n b = 2 }") == {"a": 1, "b": 2}
    refused("{ a =\n 1 }")


def test_a_newline_inside_brackets_inside_an_object_is_space() -> None:
    assert evaluate("{ a = (1\n+ 2)\n b = [1,\n2][\n0\n] }") == {"a": 3, "b": 1}


def test_a_trailing_comma_in_a_tuple_is_allowed() -> None:
    assert evaluate("[1, 2,]") == [1, 2]


def test_a_tuple_needs_commas() -> None:
    refused("[1 2]")


@pytest.mark.parametrize("key", ["a", '"a"', '("a")', '"${"a"}"', 'true ? "a" : "b"'])
def test_a_key_may_be_a_name_quoted_or_computed(key: str) -> None:
    assert evaluate(f"{{ {key} = 1 }}") == evaluate(f"{{ {key} : 1 }}") == {"a": 1}


def test_the_last_of_two_equal_keys_wins() -> None:
    assert evaluate('{ a = 1, "a" = 2 }') == {"a": 2}


def test_keywords_are_keys_but_for_is_not() -> None:
    assert evaluate("{ null = 1, true = 2, in = 3 }") == {"null": 1, "true": 2, "in": 3}
    refused("{ for = 1 }")


def test_a_key_with_steps_is_ambiguous() -> None:
    refused('[for x in [{ b = "k" }] : { x.b = 1 }]')
    assert evaluate('[for x in [{ b = "k" }] : { (x.b) = 1 }]') == [{"k": 1}]


def test_null_is_no_key() -> None:
    refused("{ (null) = 1 }")


@pytest.mark.parametrize("comment", ["# c\n", "// c\n", "/* c\n */"])
def test_a_comment_is_space(comment: str) -> None:
    assert evaluate(f"{comment}1 {comment}") == 1


@pytest.mark.parametrize("comment", ["# c", "// c"])
def test_a_line_comment_may_end_the_input(comment: str) -> None:
    assert evaluate(f"1 {comment}") == 1


def test_a_comment_hides_the_brace_in_it() -> None:
    refused("{ a = 1 // }")


def test_a_line_comment_ends_an_item_of_an_object() -> None:
    assert evaluate("{ a = 1 # c\n b = 2 }") == {"a": 1, "b": 2}


def test_a_block_comment_needs_its_end() -> None:
    refused("1 /* c")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 2 - 3", 5),
        ("100 / 10 / 5", 2),
        ("1 + 2 == 3 && 2 < 3 || false", True),
        ("false && false || true", True),
        ("1 < 2 == true", True),
        ("-2 * -3", 6),
        ("!true == false", True),
        ("--1", 1),
        ("-[1][0]", -1),
        ("7 % 3 + 7 / 2", 4.5),
    ],
)
def test_operators_bind_as_the_specification_says(source: str, value: Any) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize("source", ['"2" + 3', '2 + "3"', '-"-5"'])
def test_arithmetic_converts_strings_to_numbers(source: str) -> None:
    assert evaluate(source) == 5


@pytest.mark.parametrize("source", ["true + 1", "null + 1", "[] + 1", '"a" + 1', "-true", "!1"])
def test_operands_of_another_kind_are_refused(source: str) -> None:
    refused(source)


def test_logic_looks_at_both_sides() -> None:
    assert refused("true || a").name == "a"


@pytest.mark.parametrize("source", ['1 == "1"', "[1] == [true]", "null == 1", "{} == []"])
def test_values_of_different_types_are_never_equal(source: str) -> None:
    assert evaluate(source) is False


@pytest.mark.parametrize("source", ["null == null", "[1, {a = 2}] == [1, {a = 2}]", "1 == 1.0"])
def test_equal_values_are_equal(source: str) -> None:
    assert evaluate(source) is True


def test_a_conditional_chooses() -> None:
    assert evaluate("true ? 1 : 2") == 1
    assert evaluate("false ? 1 : true ? 2 : 3") == 2


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('true ? 1 : "a"', "1"),
        ('true ? [1] : ["a"]', ["1"]),
        ('true ? [1, "a"] : [true]', ["1", "a"]),
        ('true ? { a = 1 } : { b = "x" }', {"a": "1"}),
        ("true ? null : 1", None),
        ('true ? 1 : (true ? null : "a")', "1"),
        ("false ? [] : [1]", [1]),
        ("(true ? { a = 1 } : {}) == (true ? { a = 1 } : { b = 2 })", True),
        ('true ? (true ? [1] : [2, 3]) : ["a"]', ["1"]),
        ('true ? (true ? { a = 1 } : {}) : { b = "x" }', {"a": "1"}),
    ],
)
def test_the_results_of_a_conditional_get_one_type(source: str, value: Any) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize("source", ["true ? 1 : true", "true ? 1 : [2]", "true ? [] : {}"])
def test_results_without_a_common_type_are_refused(source: str) -> None:
    refused(source)


def test_an_error_in_the_other_branch_is_forgiven() -> None:
    assert evaluate("true ? 1 : a") == 1
    assert refused("false ? 1 : a").name == "a"


def test_a_failed_operation_still_has_a_type() -> None:
    refused("true ? [1] : a + 1")
    assert evaluate('true ? 1 : "x${a}"') == "1"
    assert evaluate("true ? 1 : -a") == 1


@pytest.mark.parametrize("condition", ["null", "1", '"yes"', "[]"])
def test_a_condition_must_be_a_bool(condition: str) -> None:
    refused(f"{condition} ? 1 : 2")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("[for x in [1, 2, 3] : x * 2 if x > 1]", [4, 6]),
        ("[for i, x in [5, 6] : i + x]", [5, 7]),
        ('[for k, v in { b = 1, a = 2 } : "${k}${v}"]', ["a2", "b1"]),
        ('{ for x in ["a", "b"] : x => 1 }', {"a": 1, "b": 1}),
        ("{ for x in [1, 2, 3] : x % 2 => x... }", {"1": [1, 3], "0": [2]}),
        ("[for x in [[1], [2]] : [for y in x : y]]", [[1], [2]]),
        ("[for x in [[1]] : [for x in x : x]]", [[1]]),
        ("[for x in [] : unknown]", []),
    ],
)
def test_a_for_goes_through_a_collection(source: str, value: Any) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    "source",
    [
        "[for x in 1 : x]",
        "[for x in null : x]",
        '{ for x in ["a", "a"] : x => 1 }',
        "{ for x in [1] : null => x }",
        "[for x in [1] : x if null]",
        "[for x in [1] : k => x]",
        "[for x in [1] : x...]",
        "{ for x in [1] : x }",
        "[for x, y, z in [1] : x]",
        "[for x in [1] x]",
    ],
)
def test_a_wrong_for_is_refused(source: str) -> None:
    refused(source)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("[1, 2][1]", 2),
        ('[1, 2]["1"]', 2),
        ("[1, 2].1", 2),
        ('{ a = 1 }["a"]', 1),
        ("{ a = { b = 1 } }.a.b", 1),
        ("{ 1 = 2 }[1]", 2),
        ("[{ a = 1 }, { a = 2 }].*.a", [1, 2]),
        ("[{ a = [1] }, { a = [2] }][*].a[0]", [1, 2]),
        ("[{ a = [1] }, { a = [2] }].*.a[0]", [1]),
        ("null[*]", []),
        ('"a"[*]', ["a"]),
        ("(true ? [1] : [1, 2])[*]", [1]),
    ],
)
def test_steps_reach_into_a_value(source: str, value: Any) -> None:
    assert evaluate(source) == value


@pytest.mark.parametrize(
    "source",
    [
        "[1][1]",
        "[1][-1]",
        "[1][0.5]",
        "[1][true]",
        "[1][null]",
        '{ a = 1 }["b"]',
        "{ a = 1 }.b",
        "null.a",
        "[1].a",
        '"abc"[0]',
        "[[1]].0.0",
        "[1].*.a.*",
        "[1][",
        "[1].",
    ],
)
def test_a_step_into_nothing_is_refused(source: str) -> None:
    refused(source)


@pytest.mark.parametrize("source", ["f(1,)", "f(\n1,\n2\n)", "f([1]...)", "a::b::c()"])
def test_a_call_parses_but_does_not_evaluate(source: str) -> None:
    parse(source)
    refused(source)


@pytest.mark.parametrize("source", ["f(1..., 2)", "f(1", "a::b", "f(,)"])
def test_a_wrong_call_does_not_parse(source: str) -> None:
    with pytest.raises(HclError):
        parse(source)


@pytest.mark.parametrize("name", ["a-b", "a--b", "é", "日本", "_a", "a1", "ªb·"])
def test_names_follow_unicode_and_may_hold_hyphens(name: str) -> None:
    assert evaluate(f"{{ {name} = 1 }}") == {name: 1}


@pytest.mark.parametrize("name", ["1a", "-a-", "·a", "\u0301a", "\u2e2f", "a\u00a0b", "€"])
def test_other_characters_make_no_name(name: str) -> None:
    refused(f"{{ {name} = 1 }}")


def test_a_byte_order_mark_is_allowed_in_front_alone() -> None:
    assert evaluate("\ufeff1") == 1
    refused("[\ufeff1]")


@pytest.mark.parametrize(
    ("source", "references", "functions"),
    [
        ("1", (), ()),
        ("[var.region, local.x, var.region]", ("var.region", "local.x"), ()),
        ("upper(var.a.b[0])", ("var.a",), ("upper",)),
        ("[for x in x.y : x.z + w if v]", ("x.y", "w", "v"), ()),
        ('{ a = b, (c) = "${d.e}%{ if f }${g()}%{ endif }" }', ("b", "c", "d.e", "f"), ("g",)),
        ("a[b.c][*].d[e]", ("a", "b.c", "e"), ()),
        ('"%{ for k, v in m }${k}${n}%{ endfor }"', ("m", "n"), ()),
        ("p ? -q : r::s(t...)", ("p", "q", "t"), ("r::s",)),
    ],
)
def test_an_expression_knows_what_it_refers_to(
    source: str, references: tuple[str, ...], functions: tuple[str, ...]
) -> None:
    expression = parse(source)
    assert expression.references == references
    assert expression.functions == functions
