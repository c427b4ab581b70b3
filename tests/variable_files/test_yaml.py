"""YAML: what both of its versions read alike is read, and nothing grows or runs."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from teamvars.hcl import evaluate
from teamvars.variable_files import Format, parse
from tests.hcl.test_generated import TEXT, equal
from tests.variable_files.test_generated import KEYS

TEXT_TAG = "tag:yaml.org,2002:str"
# YAML itself has no numbers that every program reads alike but these.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


class Quoting(yaml.SafeDumper):
    """Writes texts between quotation marks, also where YAML 1.1 needs none but 1.2 does."""


Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(TEXT_TAG, text, style='"')
)


def read(content: str) -> dict[str, tuple[str, bool]]:
    """What a file without a fault defines."""
    found = parse(Format.YAML, content)
    assert found.faults == ()
    assert found.category == "tool"
    return {item.key: (item.value, item.hcl) for item in found.items}


def faults(content: str) -> list[tuple[int, int]]:
    return [(fault.line, fault.column) for fault in parse(Format.YAML, content).faults]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=6), st.booleans())
def test_what_another_program_writes_is_read_back(variables: dict[str, object], flow: bool) -> None:
    content = yaml.dump(variables, Dumper=Quoting, default_flow_style=flow)
    found = read(content)
    assert found.keys() == variables.keys()
    for key, (value, hcl) in found.items():
        assert hcl is not isinstance(variables[key], str)
        assert equal(evaluate(value) if hcl else value, variables[key])


@pytest.mark.parametrize(
    ("written", "value", "hcl"),
    [
        ("plain text", "plain text", False),
        ('"3"', "3", False),
        ("10.0.0.1", "10.0.0.1", False),
        ("|\n  two\n  lines\n", "two\nlines\n", False),
        (">-\n  one\n  line\n", "one line", False),
        ("${x}", "${x}", False),
        ("3", "3", True),
        ("2.50", "2.50", True),
        ("True", "true", True),
        ("~", "null", True),
        ("", "null", True),
        ("[1, a, {k: '${x}'}]", '[1, "a", {"k" = "$${x}"}]', True),
    ],
)
def test_text_is_text_and_all_else_is_code(written: str, value: str, hcl: bool) -> None:
    assert read(f"a: {written}\nb: 1\n") == {"a": (value, hcl), "b": ("1", True)}


def test_an_empty_file_defines_nothing() -> None:
    for content in ("", "# said\n", "{}\n", "---\n{}\n...\n"):
        assert read(content) == {}


@pytest.mark.parametrize(
    "written",
    [
        *("no", "Off", "yes", "0755", "0o17", "0x1f", "1_000", "12:30", "1e3", "+1", ".5", "5."),
        *(
            "2024-01-01",
            ".inf",
            ".NaN",
            "=",
            "!!str x",
            "!x y",
            "&a x",
            "!!python/name:os.system x",
        ),
    ],
)
def test_what_programs_read_differently_is_a_fault_at_its_place(written: str) -> None:
    assert faults(f"é: 1\na: {written}\n") == [(2, 4)]
    assert faults(f"a:\n- b: {written}\n") == [(2, 6)]


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        ("- a\n", 1, 1),
        ("a\n", 1, 1),
        ("a: 1\na: 2\n", 2, 1),
        ("a: {b: 1, b: 2}\n", 1, 11),
        ("a: *b\n", 1, 4),
        ("? [a]\n: 1\n", 1, 3),
        ("<<: {a: 1}\n", 1, 1),
        ("a: 1\n---\nb: 2\n", 2, 1),
        ("a: b: c\n", 1, 5),
        ("é: [1\nb: 2\n", 2, 2),
        ("a:\n\t- b\n", 2, 1),
        ("é: \x01\n", 1, 4),
        ("a: " + "[" * 65 + "]" * 65, 1, 68),
        ("a b: 1\n", 1, 1),
        ('a: "\\0"\n', 1, 1),
        (f"a: {'9' * 2000}\n", 1, 4),
    ],
)
def test_what_cannot_be_read_is_a_fault_at_its_place(content: str, line: int, column: int) -> None:
    assert faults(content) == [(line, column)]


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    found = parse(Format.YAML, "\n".join(lines))
    assert found.items == ()
    assert found.faults != ()


def test_no_fault_quotes_the_file() -> None:
    for content in (
        "topsecret: *topsecret\n",
        "a: topsecret: b\n",
        "%topsecret\n",
        "a: !topsecret",
    ):
        found = parse(Format.YAML, content)
        assert found.faults
        assert "topsecret" not in " ".join(fault.detail for fault in found.faults)
