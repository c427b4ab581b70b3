"""Properties of generated files, whatever their format."""

import json
import random
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamvars.domain.variables import VariableDraft
from teamvars.hcl import evaluate
from teamvars.hcl import parse as parse_code
from teamvars.kernel.variables import Category, key_faults, value_faults
from teamvars.variable_files import MAX_FAULTS, MAX_NAMES, Format, ParsedFile, parse
from tests.hcl.test_generated import JSON, SEEDS, equal, mutated, rendered

FORMATS = pytest.mark.parametrize("file_format", list(Format))
IDENTIFIERS = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)
KEYS = st.text(min_size=1, max_size=20).filter(
    lambda key: not key_faults(key) and _is_text(key) and key[0] not in "#\ufeff"
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.text("a $'\"\\`#\r\n=")
PIECES = [
    *("=", "\n", '"', "'", "{", "}", "[", "]", "#", "$", "\\", ",", ":", " ", "\r\n", "\r", "`"),
    *("a", "b1", "export ", "<<A\n", "A\n", "${", "%{", "/*", "*/", "//", "null", "1", "\\u00e9"),
    *('"a"', "a = 1\n", "A=1\n", '{"a": ', "\ufeff", "é", "\ud800", "\0", "block {\n", "\\ud83d"),
]


def _is_text(text: str) -> bool:
    return not any(0xD800 <= ord(character) <= 0xDFFF for character in text)


def as_dotenv(value: str, pick: random.Random) -> str:
    """The value in one of the ways it can be written."""
    if "'" not in value and "\r" not in value and pick.random() < 0.5:
        return f"'{value}'"
    if value.isalnum():
        return value
    for plain, escape in (("\\", r"\\"), ('"', r"\""), ("$", r"\$"), ("`", r"\`"), ("\r", r"\r")):
        value = value.replace(plain, escape)
    return '"' + (value if pick.random() < 0.5 else value.replace("\n", r"\n")) + '"'


def well_read(found: ParsedFile) -> list[tuple[str, str, bool]]:
    """The variables of a file without a fault, each of which could be created."""
    assert found.faults == ()
    for item in found.items:
        assert_can_be_created(found.category, item.key, item.value, item.hcl)
    return [(item.key, item.value, item.hcl) for item in found.items]


def assert_can_be_created(category: Category, key: str, value: str, hcl: bool) -> None:
    assert [*key_faults(key), *value_faults(value)] == []
    assert "\0" not in value
    code = VariableDraft(key=key, value=value, category=category, hcl=hcl).code(None)
    if code is not None:
        parse_code(code.text)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, TEXTS, max_size=6), SEEDS)
def test_what_is_written_as_dotenv_is_read_back(variables: dict[str, str], seed: int) -> None:
    pick = random.Random(seed)
    content = pick.choice(["", "\ufeff", "# said\n\n"])
    for key, value in variables.items():
        content += pick.choice(["", "export ", "  "]) + key + pick.choice(["=", " = "])
        content += as_dotenv(value, pick) + pick.choice(["\n", " # said\n", "\r\n\r\n"])
    expected = [(key, value, False) for key, value in variables.items()]
    assert well_read(parse(Format.DOTENV, content)) == expected


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(IDENTIFIERS, JSON, max_size=6), SEEDS)
def test_what_is_written_as_tfvars_is_read_back(variables: dict[str, Any], seed: int) -> None:
    pick = random.Random(seed)
    content = "".join(
        f"{key}{pick.choice(['=', ' = '])}{rendered(value, pick)}"
        + pick.choice(["\n", " # said\n", "/**/\r\n\n"])
        for key, value in variables.items()
    )
    assert_read_back(well_read(parse(Format.TFVARS, content)), variables)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS.filter(lambda key: key != "//"), JSON, max_size=6), st.booleans())
def test_what_is_written_as_json_is_read_back(variables: dict[str, Any], ascii_only: bool) -> None:
    content = json.dumps(variables, ensure_ascii=ascii_only, indent=1 if ascii_only else None)
    assert_read_back(well_read(parse(Format.JSON, content)), variables)


def assert_read_back(found: list[tuple[str, str, bool]], variables: dict[str, Any]) -> None:
    """The same names in the same order, text as text, and all else as code."""
    assert [key for key, _, _ in found] == list(variables)
    for (_, value, hcl), wanted in zip(found, variables.values(), strict=True):
        assert hcl is not isinstance(wanted, str)
        assert equal(evaluate(value) if hcl else value, wanted)


@FORMATS
@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES) | st.text(string.printable, max_size=5)), seed=SEEDS)
def test_any_text_is_read_without_an_exception_and_every_place_is_in_it(
    file_format: Format, pieces: list[str], seed: int
) -> None:
    content = "".join(pieces) + random.Random(seed).choice(["", f"a = {mutated(seed)}\nb = 1\n"])
    found = parse(file_format, content)
    lines = content.removeprefix("\ufeff").split("\n")
    places = [(item.line, item.column) for item in found.items]
    for line, column in [*places, *((fault.line, fault.column) for fault in found.faults)]:
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
    for item in found.items:
        assert_can_be_created(found.category, item.key, item.value, item.hcl)


def defining(file_format: Format, names: int) -> str:
    """A file of so many names."""
    if file_format in (Format.JSON, Format.YAML):
        return json.dumps({f"n{number}": 1 for number in range(names)})
    return "".join(f"n{number}=1\n" for number in range(names))


@FORMATS
def test_a_file_has_so_many_names_and_not_one_more(file_format: Format) -> None:
    most = parse(file_format, defining(file_format, MAX_NAMES))
    assert (len(most.items), most.faults, most.too_many) == (MAX_NAMES, (), False)
    more = parse(file_format, defining(file_format, MAX_NAMES + 1))
    assert (len(more.items), len(more.faults), more.too_many) == (0, 1, True)


@FORMATS
def test_after_so_many_faults_a_file_is_read_no_further(file_format: Format) -> None:
    faulty = {
        Format.DOTENV: "a=$x\n" * 5_000,
        Format.TFVARS: "a = x\n" * 5_000,
        Format.JSON: '{"a": [' + "1e9999," * 5_000,
        Format.YAML: '{"a": [' + "no," * 5_000,
    }
    found = parse(file_format, faulty[file_format])
    assert len(found.faults) == MAX_FAULTS + 1
    assert "read up to here" in found.faults[-1].detail


@FORMATS
def test_nothing_that_is_found_shows_itself(file_format: Format) -> None:
    found = parse(file_format, '{"a": "topsecret"}\na="topsecret"\ntopsecret topsecret\n')
    assert "topsecret" not in repr(found) + repr(found.items) + repr(found.faults)
    assert not any("topsecret" in fault.detail for fault in found.faults)
