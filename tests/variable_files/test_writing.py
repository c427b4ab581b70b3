"""What is written is read again by what it is written for: python-dotenv and our readers.

What shells read is in test_shells.py.
"""

import io
import json
from pathlib import Path

import dotenv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from teamvars import hcl
from teamvars.domain.variables import Variable
from teamvars.hcl import evaluate
from teamvars.hcl.tokens import nfc
from teamvars.kernel.variables import Category
from teamvars.variable_files import Format, parse
from teamvars.variable_files.writing import Writing, Written, write
from tests.hcl.test_generated import JSON, equal
from tests.variable_files.hostile import HOSTILE_KEYS, HOSTILE_VALUES, variable

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0")) | st.text("a $'\"\\`#\r\n={")
ENV_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)


def written(form: Writing, *variables: Variable, interpolate: bool = True) -> str:
    """The file, which has all of them."""
    found = write(form, variables, interpolate=interpolate)
    assert found.unwritten == ()
    return found.text


def why_not(form: Writing, *variables: Variable) -> str:
    """Why a file has none of them."""
    found = write(form, variables)
    assert written(form) == found.text
    return " ".join(f"{one.key}: {one.detail}" for one in found.unwritten)


def test_a_variable_of_the_tool_is_called_as_the_tool_looks_for_it(tmp_path: Path) -> None:
    code = variable("ports", "[80, 443]", Category.TOOL, hcl=True)
    assert written(Writing.SHELL, code) == "export TF_VAR_ports='[80, 443]'\n"
    assert written(Writing.DOTENV, code) == "TF_VAR_ports='[80, 443]'\n"


def read_by_dotenv(text: str, *, interpolate: bool = True) -> dict[str, str | None]:
    return dotenv.dotenv_values(stream=io.StringIO(text), interpolate=interpolate)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(ENV_NAMES, TEXTS, max_size=6))
def test_what_programs_read_alike_is_written_as_dotenv(values: dict[str, str]) -> None:
    variables = [variable(key, value) for key, value in values.items()]
    found = write(Writing.DOTENV, variables)
    left_out = {one.key for one in found.unwritten}
    assert all(set(values[key]) & set('$`"\\\r') for key in left_out)
    expected = {key: value for key, value in values.items() if key not in left_out}
    assert read_by_dotenv(found.text) == expected
    ours = parse(Format.DOTENV, found.text)
    assert ours.faults == ()
    assert {item.key: item.value for item in ours.items} == expected


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(ENV_NAMES, TEXTS, max_size=6))
def test_every_value_is_written_for_readers_that_replace_nothing(values: dict[str, str]) -> None:
    variables = [variable(key, value) for key, value in values.items()]
    text = written(Writing.DOTENV, *variables, interpolate=False)
    assert read_by_dotenv(text, interpolate=False) == values


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_hostile_values_are_written_as_dotenv(value: str) -> None:
    text = written(Writing.DOTENV, variable("A", value), interpolate=False)
    assert read_by_dotenv(text, interpolate=False) == {"A": value}


def test_a_value_that_dotenv_readers_would_replace_is_refused_by_its_key() -> None:
    for value in ("${HOME}", "a${", "it's $HOME", "'`id`"):
        told = why_not(Writing.DOTENV, variable("HOSTILE", value))
        assert "HOSTILE" in told
        assert "--no-interpolate" in told
        assert value not in told


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(ENV_NAMES, TEXTS, max_size=6))
def test_what_is_written_as_tfvars_is_read_back(values: dict[str, str]) -> None:
    variables = [variable(key, value, Category.TOOL) for key, value in values.items()]
    found = parse(Format.TFVARS, written(Writing.TFVARS, *variables))
    assert found.faults == ()
    # Every string of the language is in Unicode's form C, however it is written.
    assert [(item.key, item.value) for item in found.items] == [
        (key, nfc(value)) for key, value in values.items()
    ]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(ENV_NAMES, JSON, max_size=4), TEXTS)
def test_what_is_written_as_json_is_read_back(values: dict[str, object], text: str) -> None:
    code = parse(Format.JSON, json.dumps(values)).items
    variables = [
        *(variable(item.key, item.value, Category.TOOL, hcl=item.hcl) for item in code),
        variable("text-of-it", text, Category.TOOL),
    ]
    read = json.loads(written(Writing.JSON, *variables))
    assert read.pop("text-of-it") == text
    assert equal(read, values)
    again = parse(Format.JSON, written(Writing.JSON, *variables))
    assert again.faults == ()
    for item in again.items[:-1]:
        assert equal(evaluate(item.value) if item.hcl else item.value, values[item.key])


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_hostile_values_are_written_as_tfvars_and_json(value: str) -> None:
    one = variable("a", value, Category.TOOL)
    (item,) = parse(Format.TFVARS, written(Writing.TFVARS, one)).items
    assert (item.value, item.hcl) == (nfc(value), False)
    assert json.loads(written(Writing.JSON, one)) == {"a": value}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("[1,\n 2] # said", [1, 2]),
        ("1\n+ 1", 2),
        ("\n\n{ a = 1\n b = 2 }\n", {"a": 1, "b": 2}),
        ("<<A\nx\nA\n", "x\n"),
        ("<<-A\n  x\n  A", "x\n"),
        ('"${1}"', 1),
        ('"x${1}"', "x1"),
        ("# said\n1", 1),
        ("0.1 + 0.2", 0.3),
        ("null", None),
    ],
)
def test_code_is_code_in_tfvars_and_evaluated_in_json(code: str, value: object) -> None:
    one = variable("a", code, Category.TOOL, hcl=True)
    found = parse(Format.TFVARS, written(Writing.TFVARS, one))
    assert found.faults == ()
    (item,) = found.items
    assert (evaluate(item.value) if item.hcl else item.value) == value
    assert json.loads(written(Writing.JSON, one)) == {"a": value}


def test_code_that_would_define_something_else_is_not_written() -> None:
    for code in ("1\nb = 2", "1)\nb = (2", "", "<<A\nx", "1 /*"):
        assert "a: " in why_not(Writing.TFVARS, variable("a", code, Category.TOOL, hcl=True))


def test_what_code_refers_to_is_named_where_it_had_to_be_evaluated() -> None:
    code = "[var.region, upper(local.x)]"
    one = variable("a", code, Category.TOOL, hcl=True)
    assert why_not(Writing.JSON, one) == "a: its value refers to var.region, local.x, upper()"
    assert written(Writing.TFVARS, one) == f"a = {code}\n"


def test_values_that_take_too_much_work_together_are_not_written_as_json(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hcl, "FEW", 0)
    each = ",".join("1" * 100)
    code = f"[for a in [{each}] : [for b in [{each}] : 1][0]][0]"
    many = [variable(f"a{n}", code, Category.TOOL, hcl=True) for n in range(100)]
    found = write(Writing.JSON, many)
    assert 50 < len(found.unwritten) < 100
    assert all("too much work" in one.detail for one in found.unwritten)


@pytest.mark.parametrize("form", list(Writing))
def test_a_nul_and_a_sensitive_value_have_no_form(form: Writing) -> None:
    told = why_not(form, variable("NUL", "topsecret\0", form.category))
    assert "NUL" in told
    assert "topsecret" not in told
    assert "sensitive" in why_not(form, variable("A", None, form.category))


@pytest.mark.parametrize("key", HOSTILE_KEYS)
def test_a_key_that_is_no_name_is_refused_where_it_would_be_one(key: str) -> None:
    forms = [Writing.SHELL, Writing.DOTENV] + ([Writing.TFVARS] if key != "a-b" else [])
    for form in forms:
        found: Written = write(form, [variable(key, "x", form.category)])
        (unwritten,) = found.unwritten
        assert (unwritten.key, unwritten.by_key) == (key, True)
    as_json = written(Writing.JSON, variable(key, "x", Category.TOOL))
    assert json.loads(as_json) == {key: "x"}


def test_a_member_that_readers_take_for_a_comment_is_refused() -> None:
    assert "//" in why_not(Writing.JSON, variable("//", "x", Category.TOOL))
