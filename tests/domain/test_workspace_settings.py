"""Settings of workspaces: which values they have, and what of them is stored."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.client_settings import MAX_CHARACTERS, MAX_ITEMS, Value, Values
from teamvars.domain.errors import Code
from teamvars.domain.workspace_settings import PATTERNS, PREFIXES, SETTINGS, changed, faults
from teamvars.domain.workspaces import ExecutionMode, WorkspaceDraft, WorkspaceSettings

KEPT = [one for one in SETTINGS.by_name.values() if not one.not_offered]
values: dict[type, st.SearchStrategy[Value]] = {
    bool: st.booleans(),
    str: st.sampled_from(["", "http://a.example/b"]),
    tuple: st.lists(st.sampled_from(["a", "/b"]), max_size=2).map(tuple),
}
said = st.fixed_dictionaries({}, optional={one.name: values[type(one.default)] for one in KEPT})


def shown(others: Values) -> dict[str, Value]:
    settings = WorkspaceSettings(others=others)
    return {name: settings.value(name) for name in SETTINGS.by_name}


@given(before=said, after=said)
def test_what_is_said_holds_what_is_not_stays_and_defaults_are_not_stored(
    before: Values, after: Values
) -> None:
    if faults(before) or faults(after):
        return
    stored = changed(changed({}, before), after)
    assert all(value != SETTINGS.by_name[name].default for name, value in stored.items())
    now, was = shown(stored), shown(changed({}, before))
    assert all(now[name] == value for name, value in after.items())
    others = SETTINGS.by_name.keys() - after.keys() - {PREFIXES, PATTERNS}
    assert all(now[name] == was[name] for name in others)
    assert changed(stored, after) == stored


@given(before=said, after=said)
def test_a_workspace_never_has_prefixes_and_patterns(before: Values, after: Values) -> None:
    if not (faults(before) or faults(after)):
        stored = changed(changed({}, before), after)
        assert () in (stored.get(PREFIXES, ()), stored.get(PATTERNS, ()))
    both = faults({**before, PREFIXES: ("a",), PATTERNS: ("b",)})
    assert [one.pointer for one in both] == [f"/data/attributes/{PATTERNS}"]


BOUNDS: list[tuple[str, Value, Callable[[int], Value]]] = [
    ("description", "x\n" * (MAX_CHARACTERS // 2), lambda n: "x" * n),
    ("working-directory", "x" * MAX_CHARACTERS, lambda n: "x" * n),
    (PREFIXES, ("x" * MAX_CHARACTERS,) * MAX_ITEMS, lambda n: ("x",) * n),
]


@pytest.mark.parametrize(("name", "longest", "of"), BOUNDS)
def test_texts_and_lists_have_an_end(name: str, longest: Value, of: Callable[[int], Value]) -> None:
    assert faults({name: longest}) == []
    most = MAX_ITEMS if name == PREFIXES else MAX_CHARACTERS
    assert faults({name: of(most)}) == []
    assert [one.code for one in faults({name: of(most + 1)})] == [Code.INVALID_VALUE]


@pytest.mark.parametrize(
    ("name", "value", "at"),
    [
        ("source-url", "ftp://a.example", "source-url"),
        ("source-url", "https://", "source-url"),
        ("source-url", "https://a b", "source-url"),
        ("source-name", "a\nb", "source-name"),
        ("working-directory", "a\u202eb", "working-directory"),
        (PATTERNS, ("a", "b\nc", "d"), f"{PATTERNS}/1"),
        (PATTERNS, ("a" * (MAX_CHARACTERS + 1),), f"{PATTERNS}/0"),
    ],
)
def test_a_value_that_breaks_a_rule_is_named(name: str, value: Value, at: str) -> None:
    (fault,) = faults({name: value})
    assert (fault.code, fault.pointer) == (Code.INVALID_VALUE, f"/data/attributes/{at}")


@pytest.mark.parametrize(
    ("draft", "mode", "is_own"),
    [
        ({}, "remote", False),
        ({"execution_mode": "local"}, "local", True),
        ({"operations": False}, "local", True),
        ({"operations": True}, "remote", True),
        ({"execution_mode": "remote", "operations": True}, "remote", True),
        (
            {"execution_mode": "local", "settings": {"setting-overwrites/execution-mode": False}},
            "local",
            False,
        ),
    ],
)
def test_who_names_a_mode_has_it_as_the_workspaces_own(
    draft: dict[str, Any], mode: str, is_own: bool
) -> None:
    made = WorkspaceDraft(**draft)
    assert made.all_faults() == []
    settings = made.new_settings()
    assert settings.execution_mode is ExecutionMode(mode)
    assert settings.value("setting-overwrites/execution-mode") is is_own


@pytest.mark.parametrize(
    ("draft", "code", "at"),
    [
        ({"execution_mode": "agent"}, Code.NOT_OFFERED, "execution-mode"),
        ({"execution_mode": "magic"}, Code.INVALID_VALUE, "execution-mode"),
        ({"execution_mode": "local", "operations": True}, Code.INVALID_VALUE, "operations"),
        ({"execution_mode": "remote", "operations": False}, Code.INVALID_VALUE, "operations"),
    ],
)
def test_a_mode_that_is_none_here_or_contradicts_itself_is_refused(
    draft: dict[str, Any], code: Code, at: str
) -> None:
    (fault,) = WorkspaceDraft(**draft).all_faults()
    assert (fault.code, fault.pointer) == (code, f"/data/attributes/{at}")
