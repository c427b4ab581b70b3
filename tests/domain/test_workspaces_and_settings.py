"""Settings of workspaces: which values they have, and what of them is stored."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from teamvars.domain.client_settings import MAX_CHARACTERS, MAX_ITEMS, Value, Values
from teamvars.domain.errors import Code
from teamvars.domain.workspaces import (
    OWN_MODE,
    PATTERNS,
    PREFIXES,
    SETTINGS,
    TRIGGERS,
    ExecutionMode,
    WorkspaceDraft,
    WorkspaceSettings,
    changed_settings,
    setting_faults,
    trigger_faults,
)

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
    if setting_faults(before) or setting_faults(after):
        return
    stored = changed_settings(changed_settings({}, before), after)
    assert all(value != SETTINGS.by_name[name].default for name, value in stored.items())
    now, was = shown(stored), shown(changed_settings({}, before))
    assert all(now[name] == value for name, value in after.items())
    others = SETTINGS.by_name.keys() - after.keys() - {PREFIXES, PATTERNS}
    assert all(now[name] == was[name] for name in others)
    assert changed_settings(stored, after) == stored


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({PREFIXES: ("a",)}, {PATTERNS: ("b",)}, {PATTERNS: ("b",)}),
        ({PATTERNS: ("b",)}, {PREFIXES: ("a",)}, {PREFIXES: ("a",)}),
        ({PATTERNS: ("b",)}, {PREFIXES: ()}, {}),
        ({PREFIXES: ("a",)}, {PATTERNS: ()}, {}),
        ({PREFIXES: ("a",)}, {"description": "d"}, {PREFIXES: ("a",), "description": "d"}),
    ],
)
def test_prefixes_and_patterns_take_each_others_place(
    before: Values, after: Values, found: Values
) -> None:
    assert changed_settings(before, after) == found


@given(before=said, after=said)
def test_a_workspace_never_has_prefixes_and_patterns(before: Values, after: Values) -> None:
    if not (setting_faults(before) or setting_faults(after)):
        stored = changed_settings(changed_settings({}, before), after)
        assert () in (stored.get(PREFIXES, ()), stored.get(PATTERNS, ()))
    both = setting_faults({**before, PREFIXES: ("a",), PATTERNS: ("b",)})
    assert [one.pointer for one in both] == [f"/data/attributes/{PATTERNS}"]


@pytest.mark.parametrize(
    ("before", "said", "at"),
    [
        ({}, {PATTERNS: ("a",)}, []),
        ({}, {TRIGGERS: False}, []),
        ({}, {TRIGGERS: False, PATTERNS: ("a",)}, [PATTERNS]),
        ({TRIGGERS: False}, {PATTERNS: ("a",)}, [PATTERNS]),
        ({PATTERNS: ("a",)}, {TRIGGERS: False}, [TRIGGERS]),
        ({TRIGGERS: False, PATTERNS: ("a",)}, {"auto-apply": True}, []),
        ({TRIGGERS: False}, {TRIGGERS: True, PATTERNS: ("a",)}, []),
    ],
)
def test_patterns_are_refused_where_no_file_triggers_a_run(
    before: Values, said: Values, at: list[str]
) -> None:
    found = trigger_faults(before, said)
    assert [one.pointer for one in found] == [f"/data/attributes/{name}" for name in at]


BOUNDS: list[tuple[str, Value, Callable[[int], Value]]] = [
    ("description", "x\n" * (MAX_CHARACTERS // 2), lambda n: "x" * n),
    ("working-directory", "x" * MAX_CHARACTERS, lambda n: "x" * n),
    (PREFIXES, ("x" * MAX_CHARACTERS,) * MAX_ITEMS, lambda n: ("x",) * n),
]


@pytest.mark.parametrize(("name", "longest", "of"), BOUNDS)
def test_texts_and_lists_have_an_end(name: str, longest: Value, of: Callable[[int], Value]) -> None:
    assert setting_faults({name: longest}) == []
    most = MAX_ITEMS if name == PREFIXES else MAX_CHARACTERS
    assert setting_faults({name: of(most)}) == []
    assert [one.code for one in setting_faults({name: of(most + 1)})] == [Code.INVALID_VALUE]


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
    (fault,) = setting_faults({name: value})
    assert (fault.code, fault.pointer) == (Code.INVALID_VALUE, f"/data/attributes/{at}")


@pytest.mark.parametrize(
    ("draft", "mode", "is_own"),
    [
        ({}, "remote", False),
        ({"execution_mode": "local"}, "local", True),
        ({"operations": False}, "local", True),
        ({"operations": True}, "remote", True),
        ({"execution_mode": "remote", "operations": True}, "remote", True),
        ({"execution_mode": "remote", "settings": {OWN_MODE: False}}, "remote", False),
    ],
)
def test_who_names_a_mode_has_it_as_the_workspaces_own(
    draft: dict[str, Any], mode: str, is_own: bool
) -> None:
    made = WorkspaceDraft(**draft)
    assert made.all_faults() == made.mode_faults(ExecutionMode.REMOTE) == []
    settings = made.new_settings(ExecutionMode.REMOTE)
    assert settings.mode is ExecutionMode(mode)
    assert settings.value(OWN_MODE) is is_own


drafts = st.builds(
    WorkspaceDraft,
    execution_mode=st.sampled_from([None, "remote", "local"]),
    settings=st.sampled_from([{}, {OWN_MODE: True}, {OWN_MODE: False}, {"auto-apply": True}]),
)
modes = st.sampled_from([ExecutionMode.REMOTE, ExecutionMode.LOCAL])


@given(drafts=st.lists(drafts, max_size=4), default=modes, later=modes)
def test_a_mode_is_the_one_that_was_named_or_else_the_default_of_that_moment(
    drafts: list[WorkspaceDraft], default: ExecutionMode, later: ExecutionMode
) -> None:
    settings = WorkspaceDraft().new_settings(default)
    for draft in drafts:
        if draft.mode_faults(default):
            assert draft.settings[OWN_MODE] is False
            assert draft.execution_mode not in (None, default)
            continue
        was, settings = settings.mode, draft.applied_to(settings)
        expected = draft.execution_mode or (was if settings.value(OWN_MODE) else default)
        assert settings.mode == expected
    moved = replace(settings, default_mode=later)
    assert moved.mode is (settings.mode if settings.value(OWN_MODE) else later)
    assert WorkspaceDraft().applied_to(moved) == moved


@pytest.mark.parametrize(
    ("draft", "code", "at"),
    [
        ({"execution_mode": "agent"}, Code.NOT_OFFERED, "execution-mode"),
        ({"execution_mode": "magic"}, Code.INVALID_VALUE, "execution-mode"),
        ({"execution_mode": "local", "operations": True}, Code.INVALID_VALUE, "operations"),
        ({"execution_mode": "remote", "operations": False}, Code.INVALID_VALUE, "operations"),
        (
            {"execution_mode": "magic", "settings": {OWN_MODE: False}},
            Code.INVALID_VALUE,
            "execution-mode",
        ),
        (
            {"execution_mode": "remote", "settings": {OWN_MODE: False}},
            Code.INVALID_VALUE,
            "execution-mode",
        ),
        ({"operations": True, "settings": {OWN_MODE: False}}, Code.INVALID_VALUE, "operations"),
    ],
)
def test_a_mode_that_is_none_here_or_contradicts_itself_is_refused(
    draft: dict[str, Any], code: Code, at: str
) -> None:
    said = WorkspaceDraft(**draft)
    (fault,) = [*said.all_faults(), *said.mode_faults(ExecutionMode.LOCAL)]
    assert (fault.code, fault.pointer) == (code, f"/data/attributes/{at}")
