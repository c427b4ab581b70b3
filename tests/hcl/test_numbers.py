from decimal import Decimal
from typing import Any

import pytest

from teamvars.hcl import HclError, evaluate


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("42", 42),
        ("007", 7),
        ("1.0", 1),
        ("1.5e3", 1500),
        ("1e-3", 0.001),
        ("9007199254740993", 9007199254740993),
        ("9" * 153, int("9" * 153)),
        ("1e400", 10**400),
        ("0.30000000000000004", 0.30000000000000004),
        ("0" * 5_000, 0),
        ("7 / 2", 3.5),
        ("0.1 + 0.2", 0.3),
        ("1e400 - 1e400", 0),
        ("-7 % 3", -1),
        ("1 % 0", 1),
        ("3 % 0.1", 0),
        ("-1.5", -1.5),
    ],
)
def test_a_number_is_exact(source: str, value: Any) -> None:
    result = evaluate(source)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1.00000000000000000001", "1.00000000000000000001"),
        ("1 / 3", "0." + "3" * 154 + "5"),
        ("5.3 % 0.7", "0.4" + "0" * 152 + "12"),
        ("1e-400", "1e-400"),
        ("-1.00000000000000000001", "-1.00000000000000000001"),
    ],
)
def test_a_number_beyond_a_float_is_a_decimal(source: str, value: str) -> None:
    result = evaluate(source)
    assert isinstance(result, Decimal)
    assert result == Decimal(value)


def test_precision_ends_at_512_bits() -> None:
    assert evaluate("9" * 200) == 10**200
    assert evaluate("1e300 + 1") == 10**300


@pytest.mark.parametrize(
    "source",
    ["1 / 0", "0 / 0", "1e1001", "1e-1001", "9" * 1_300, "1e1000 * 1e1000", "1e9999999"],
)
def test_what_cannot_be_represented_is_refused(source: str) -> None:
    with pytest.raises(HclError):
        evaluate(source)


@pytest.mark.parametrize("source", ["0x1F", "1e", "1.", ".5", "1_000", "1..2", "1.5.2", "NaN"])
def test_other_notations_are_refused(source: str) -> None:
    with pytest.raises(HclError):
        evaluate(source)


@pytest.mark.parametrize("text", [".5", "5.", "+5", "1e5", "0.50"])
def test_a_string_that_reads_as_a_number_converts(text: str) -> None:
    assert evaluate(f'"{text}" + 0') == float(text)


@pytest.mark.parametrize("text", ["", " 1", "1_0", "0x10", "inf", "a", "٣", "."])
def test_another_string_does_not_convert(text: str) -> None:
    with pytest.raises(HclError):
        evaluate(f'"{text}" + 0')


@pytest.mark.parametrize("source", ["1.5.0", "1..0", "1e5.5", "1.5e3.2", "[1.5.2]"])
def test_dots_and_digits_without_a_gap_are_one_number_and_here_a_wrong_one(source: str) -> None:
    with pytest.raises(HclError, match="malformed"):
        evaluate(source)
