"""Numbers as terraform computes them: binary, 512 bits of precision, rounded half to even.

A number is an `int` or, when it has a fraction, the shortest `Decimal` that names its 512 bits;
that is the form terraform prints, and one form per number makes equality plain `==`. Everything
of up to 153 digits is therefore exact.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from operator import add, mul, sub
from typing import Any

Number = int | Decimal

PRECISION = 512
"""Bits of a number's mantissa (terraform 1.11)."""

EXACT_DIGITS = 153
"""Every decimal of so many digits has its own 512-bit number."""

MAX_EXPONENT = 1_000
"""The largest exponent, of ten, that may be written."""

MAX_MAGNITUDE = 1_200
"""No number is 10 to this power or more, or closer to zero than its inverse."""

_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul}
_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")


class NumberError(ValueError):
    """A number that cannot be represented, or an operation without a result."""


def read_number(text: str) -> Number:
    """The number that `text` writes in decimal. Refuses: other text, a number out of range."""
    if len(text) <= EXACT_DIGITS and text.isascii() and text.isdigit():
        return int(text)
    match = _FORM.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise NumberError("a number is malformed")
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4] or "0"
    if len(exponent) > 8 or abs(int(exponent)) > MAX_EXPONENT:
        raise NumberError("a number's exponent is out of range")
    written = whole + fraction
    digits = written.rstrip("0")
    scale = int(exponent) - len(fraction) + len(written) - len(digits)
    return _from_digits(sign, digits.lstrip("0"), scale)


def _from_digits(sign: str, digits: str, scale: int) -> Number:
    """The number `digits` times 10 to the power `scale`; `digits` neither begins nor ends in 0."""
    if not digits:
        return 0
    if not -MAX_MAGNITUDE <= scale <= len(digits) + scale <= MAX_MAGNITUDE:
        raise NumberError("a number is out of range")
    if len(digits) > EXACT_DIGITS:
        return _shortest(_rounded(Fraction(int(sign + digits)) * Fraction(10) ** scale))
    return _scaled(sign, digits, scale)


def _scaled(sign: str, digits: str, scale: int) -> Number:
    return int(sign + digits + "0" * scale) if scale >= 0 else Decimal(f"{sign}{digits}e{scale}")


def write_number(number: Number) -> str:
    """`number` in plain decimal notation, as a template shows it."""
    return str(number) if isinstance(number, int) else f"{number:f}"


def negated(number: Number) -> Number:
    """The number with the other sign; `-` itself would round a Decimal."""
    return -number if isinstance(number, int) else number.copy_negate()


def exact(operator: str, left: Number, right: Number) -> int | None:
    """The result of one of `+ - *` on whole numbers, where nothing has to be rounded."""
    if not (isinstance(left, int) and isinstance(right, int) and operator in _EXACT):
        return None
    result: int = _EXACT[operator](left, right)
    return result if result.bit_length() <= PRECISION else None


def compute(operator: str, left: Number, right: Number) -> Number:
    """The result of one of `+ - * / %`. Refuses: division by zero, a result out of range."""
    result = _fraction(operator, _binary(left), _binary(right))
    limit = Fraction(10) ** MAX_MAGNITUDE
    if result and not 1 / limit <= abs(result) < limit:
        raise NumberError("the result is out of range")
    return _shortest(_rounded(result))


def _fraction(operator: str, left: Fraction, right: Fraction) -> Fraction:
    if operator in _EXACT:
        result: Fraction = _EXACT[operator](left, right)
        return result
    if operator == "/":
        if not right:
            raise NumberError("division by zero has no result")
        return left / right
    if not right:
        return left  # terraform 1.11: the remainder of a division by zero is the dividend
    # terraform rounds the quotient before it drops the fraction, and the product after that.
    return left - _rounded(int(_rounded(left / right)) * right)


def _binary(number: Number) -> Fraction:
    """The 512-bit number that `number` names."""
    return _rounded(Fraction(number))


def _rounded(value: Fraction) -> Fraction:
    """The nearest fraction with a mantissa of `PRECISION` bits."""
    shift = _shift(value)
    return Fraction(round(value * shift)) / shift


def _shift(value: Fraction) -> Fraction:
    """The power of two that lifts `value` to a whole part of exactly `PRECISION` bits."""
    bits = abs(value.numerator).bit_length() - value.denominator.bit_length()
    shift = Fraction(2) ** (PRECISION - bits)
    too_long = int(abs(value) * shift).bit_length() > PRECISION
    return shift / 2 if too_long else shift


def _shortest(value: Fraction) -> Number:
    """The decimal with the fewest digits that still rounds to `value`."""
    if value.denominator == 1 and abs(value.numerator).bit_length() <= PRECISION:
        return value.numerator
    # Everything is counted in units far below the last digit that can matter.
    unit = Fraction(10) ** (_decimal_places(value) - EXACT_DIGITS - 8)
    half_step = 1 / (2 * _shift(value))
    low, high = ceil((abs(value) - half_step) / unit), floor((abs(value) + half_step) / unit)
    digits = _roundest(low, round(abs(value) / unit), high)
    text = str(digits).rstrip("0")
    scale = _decimal_places(value) - EXACT_DIGITS - 8 + len(str(digits)) - len(text)
    return _scaled("-" if value < 0 else "", text, scale)


def _roundest(low: int, middle: int, high: int) -> int:
    """The multiple of the largest power of ten between `low` and `high`, nearest to `middle`."""
    least, most = 0, len(str(middle))
    found = middle
    while least < most:
        zeros = (least + most + 1) // 2
        power = 10**zeros
        candidate: int = (middle + power // 2) // power * power
        if low <= candidate <= high:
            least, found = zeros, candidate
        else:
            most = zeros - 1
    return found


def _decimal_places(value: Fraction) -> int:
    """How many digits stand before the decimal point, negative for leading zeros after it.

    It may be one too many, which only makes the unit above coarser by a digit.
    """
    bits = abs(value.numerator).bit_length() - value.denominator.bit_length() + 1
    return int(bits * 30103 // 100000) + 1
