"""Every hostile source is evaluated or refused at some times the cost of a harmless one that is as
long, in 100 MiB.
"""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from teamvars.hcl import Expression, HclError, evaluate, parse

FULL = 262_144
TIMES_AS_MUCH = 60
"""Three times what the worst takes; what grew with the square would take thousands."""


def nested(opening: str, closing: str, count: int, middle: str) -> str:
    return opening * count + middle + closing * count


def doubled(start: str, double: str, rounds: int) -> str:
    """A value that doubles with every `for` around it."""
    names = [f"x{number}" for number in range(rounds + 1)]
    steps = [f"[for {names[i + 1]} in [{double.format(names[i])}] : " for i in range(rounds)]
    return f"[for x0 in [{start}] : {''.join(steps)}{names[-1]}{']' * (rounds + 1)}"


def wide_type(rounds: int) -> str:
    """A null whose type has 2 to the power `rounds` parts."""
    names = ["0", *(f"x{number}" for number in range(rounds))]
    steps = [f"[for {names[i + 1]} in [[{names[i]}, {names[i]}]] : " for i in range(rounds)]
    return f"(false ? {''.join(steps)}{names[-1]}{'][0]' * rounds} : null)"


def often(part: str) -> str:
    """Something that is evaluated until it is too much work."""
    return nested("[for x in [1,1,1,1,1,1,1,1] : ", "]", 6, part)


HOSTILE = {
    "open brackets": "[" * 100_000,
    "brackets": nested("[", "]", FULL // 2, ""),
    "open parentheses": "(" * FULL,
    "open braces": "{" * FULL,
    "not": "!" * 250_000 + "true",
    "minus": "-" * 250_000 + "1",
    "newlines": "\n" * 250_000 + "1",
    "carriage returns": "\r\n" * 131_000 + "1",
    "dollars": '"' + "$" * 250_000 + '"',
    "percents": '"' + "%" * 250_000 + '"',
    "open templates": '"${' * 87_000,
    "unterminated string": '"' + "a" * 250_000,
    "unterminated interpolations": '"' + "${1}" * 65_000,
    "digits": "9" * 200_000,
    "fraction digits": "0." + "1" * 200_000,
    "exponent digits": "1e" + "1" * 200_000,
    "list": "[" + "1," * 120_000 + "]",
    "full list": "[" + "1," * 131_071 + "]",
    "objects": "[" + "{}," * 87_000 + "]",
    "same keys": "{" + "1=1," * 65_000 + "}",
    "strings": "[" + '"a",' * 65_000 + "]",
    "heredoc openings": "<<A\n" * 65_000,
    "heredocs": "[" + "<<A\nA\n," * 32_000 + "]",
    "heredocs in heredocs": "<<A\n${" * 40_000,
    "heredoc lines": "<<-A\n" + " a\n" * 87_000 + "A\n",
    "nested for": nested("[for a in [1,1,1,1,1,1,1,1] : ", "]", 30, "1"),
    "for over a large list": "[for a in [" + "1," * 100_000 + "] : [a, a, a, a, a, a, a, a]]",
    "doubled tuples": doubled("[1]", "[{0}, {0}]", 20),
    "doubled strings": doubled('"x"', '"${{{0}}}${{{0}}}"', 24),
    "additions": "1" + "+1" * 131_000,
    "divisions": "1" + "/3" * 131_000,
    "list of divisions": "[" + "1/3," * 65_000 + "]",
    "remainders": "1e1000" + "%0.3" * 60_000,
    "conditionals": "true?1:" * 37_000 + "1",
    "splats": "[1]" + "[*]" * 87_000,
    "attributes": "{a=1}" + ".a" * 131_000,
    "calls": "f(" * 131_000,
    "block comments": "/**/" * 65_000 + "1",
    "open comments": "1" + "/*" * 131_000,
    "directives": '"' + "%{if true}" * 26_000 + '"',
    "backslashes": '"' + "\\" * 262_000 + '"',
    "combining marks": '"a' + "\u0301\u0323" * 65_000 + '"',
    "types of nulls": f"true ? {wide_type(28)} : {wide_type(28)}",
    "numbers in strings": f'[for a in ["{"9" * 1_100}"] : {often("-a")}]',
    "rounded numbers in strings": f'[for a in ["{"1" * 154}e-1000"] : {often("-a")}]',
    "large whole numbers": f"[for a in [1e1000] : {often('a+a+a+a')}]",
    "forgiven errors": "\n" * 200_000 + often("true ? 1 : a"),
    "splats without steps": f"[for a in [[{'1,' * 1_000}]] : {often('a[*]')}]",
    "large equality": "[" + "1," * 60_000 + "]==[" + "1," * 60_000 + "]",
    "large conditional": "true?[" + "1," * 60_000 + "]:[" + '"a",' * 30_000 + "]",
}

LARGEST = ["full list", "objects", "additions", "list of divisions", "doubled strings"]

MEASURED = """
import resource, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from test_hostile import HOSTILE, LARGEST, expression_of, evaluated
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in LARGEST:
    evaluated(expression_of(HOSTILE[name]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def expression_of(source: str) -> Expression | None:
    """The expression, or None for a source that is refused."""
    try:
        return parse(source)
    except HclError:
        return None


def evaluated(expression: Expression | None) -> None:
    """Evaluate; being refused is as good as having a value."""
    with suppress(HclError):
        if expression is not None:
            expression.evaluate()


@pytest.fixture(scope="module")
def harmless() -> float:
    """The seconds that a source as long as may be takes which means no harm."""
    return min(seconds("[" + '"some text", ' * (FULL // 13 - 1) + "]") for _ in range(3))


def seconds(source: str) -> float:
    """The processor's own time: what the machine does for others is not this package's doing."""
    begun = time.process_time()
    evaluated(expression_of(source))
    return time.process_time() - begun


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_source_costs_no_more_than_some_times_a_harmless_one(
    name: str, harmless: float
) -> None:
    tries = (seconds(HOSTILE[name]) for _ in range(3))  # a busy host may make one of them dear
    assert any(took < TIMES_AS_MUCH * harmless for took in tries)


def test_hostile_sources_fit_in_100_mib() -> None:
    here = Path(__file__).resolve().parent
    command = [sys.executable, "-c", MEASURED, str(here), str(here.parents[1] / "src")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    assert int(done.stdout) < 100 * 1024  # kibibytes


def test_256_kib_is_the_limit() -> None:
    assert evaluate('"' + "é" * (FULL // 2 - 1) + '"') == "é" * (FULL // 2 - 1)
    with pytest.raises(HclError):
        parse('"' + "é" * (FULL // 2) + '"')


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("[", "]"),
        ("{a=", "}"),
        ('"x${', '}"'),
        ("-(", ")"),
        ("1+1*(", ")"),
        ("true?(", "):2"),
        ("[1][", "]"),
        ("[for x in [1] : ", "]"),
    ],
)
def test_sixty_levels_of_any_kind_parse_and_10_000_do_not(opening: str, closing: str) -> None:
    with pytest.raises(HclError):
        parse(nested(opening, closing, 10_000, "0"))
    levels = 30 if opening == "true?(" else 60  # a branch is a level, and so is a parenthesis
    evaluated(parse(nested(opening, closing, levels, "0")))


def test_64_brackets_parse_and_65_do_not() -> None:
    assert evaluate(nested("(", ")", 64, "1")) == 1
    with pytest.raises(HclError):
        parse(nested("(", ")", 65, "1"))


def test_a_value_that_nests_deeper_than_64_levels_is_refused() -> None:
    inner = nested("[", "]", 40, "1")
    with pytest.raises(HclError):
        evaluate(f"[for x in [{inner}] : {nested('[', ']', 40, 'x')}]")


def test_deep_nesting_leaves_half_of_pythons_stack_to_the_caller() -> None:
    source = nested('"x${[for x in [1] : 1+1*(', ')]}"', 16, "0")

    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            evaluated(expression_of(source))

    deeper(400)
