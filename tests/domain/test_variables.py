"""The rules of variables that need no store: contract §4."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.variables import MAX_DESCRIPTION_CHARACTERS, Variable, VariableDraft
from teamvars.domain.workspaces import Workspace, WorkspaceFilter
from teamvars.kernel.variables import MAX_KEY_CHARACTERS, MAX_VALUE_BYTES, Category, value_size

WORKSPACE = Workspace("ws-1", "network", "org-1", "Acme")
IDS = "var-FJDA2AmbwMZ4Qx9T", "v-1"
ATTRIBUTES = ("key", "value", "description", "category", "hcl", "sensitive")
MADE = Variable("var-1", "ws-1", "k", "v", "d", Category.ENV, False, False, "v-0", 1)

keys = st.from_regex(r"[A-Za-z_]{1,20}", fullmatch=True)
texts = st.text(max_size=50)
attributes: dict[str, st.SearchStrategy[Any]] = {
    "key": keys,
    "value": texts,
    "description": texts,
    "category": st.sampled_from(Category),
    "hcl": st.booleans(),
    "sensitive": st.booleans(),
}
drafts = st.fixed_dictionaries({}, optional=attributes).map(lambda given: VariableDraft(**given))
complete = st.fixed_dictionaries(attributes).map(lambda given: VariableDraft(**given))


def _stored(given: dict[str, Any]) -> Variable:
    """A stored variable: a sensitive value is not there to be read."""
    return replace(MADE, **{**given, "value": None if given["sensitive"] else given["value"]})


stored = st.fixed_dictionaries(attributes).map(_stored)


def refused(draft: VariableDraft, before: Variable | None = None) -> list[tuple[Code, str | None]]:
    """The codes and pointers of the refusal of a draft without faults from its document."""
    with pytest.raises(Refusal) as refusal:
        _ = draft.build(WORKSPACE.id, 1, IDS) if before is None else draft.applied_to(before, "v-1")
    return [(fault.code, fault.pointer) for fault in refusal.value.faults]


def said(draft: VariableDraft) -> dict[str, Any]:
    """The attributes of which a draft says something."""
    return {name: value for name in ATTRIBUTES if (value := getattr(draft, name)) is not None}


@given(draft=complete)
def test_a_new_variable_is_what_the_draft_says(draft: VariableDraft) -> None:
    made = draft.build(WORKSPACE.id, 7, IDS)
    assert {name: getattr(made, name) for name in ATTRIBUTES} == said(draft)
    assert (made.owner_id, made.created_at) == (WORKSPACE.id, 7)
    assert re.fullmatch(r"var-\w{16}", made.id)


def test_what_a_new_variable_is_not_told_is_empty_readable_and_text() -> None:
    made = VariableDraft(key="k", category=Category.TOOL).build(WORKSPACE.id, 1, IDS)
    assert (made.value, made.description, made.hcl, made.sensitive) == ("", "", False, False)


@given(before=stored, draft=drafts)
def test_an_update_changes_what_it_says_and_the_version_alone(
    before: Variable, draft: VariableDraft
) -> None:
    if before.sensitive and draft.sensitive is False:
        assert refused(draft, before) == [
            (Code.SENSITIVE_IS_PERMANENT, "/data/attributes/sensitive")
        ]
        return
    after = draft.applied_to(before, "v-1")
    assert after.version_id != before.version_id
    assert asdict(replace(after, version_id="")) == {
        **asdict(before),
        **said(draft),
        "version_id": "",
    }


@pytest.mark.parametrize(
    ("draft", "is_other"),
    [
        (VariableDraft(value="w"), False),
        (VariableDraft("k", category=Category.ENV), False),
        (VariableDraft("k"), False),
        (VariableDraft("l"), True),
        (VariableDraft(category=Category.TOOL), True),
        (VariableDraft("l", category=Category.ENV), True),
        (VariableDraft("k", category=Category.TOOL), True),
    ],
)
def test_a_variable_has_another_name_with_another_key_or_category(
    draft: VariableDraft, is_other: bool
) -> None:
    assert draft.renames(MADE) is is_other


@given(before=stored, draft=drafts)
def test_a_sensitive_variable_never_becomes_readable(
    before: Variable, draft: VariableDraft
) -> None:
    try:
        after = draft.applied_to(before, "v-1")
    except Refusal:
        return
    assert after.sensitive or not before.sensitive


@given(before=stored, draft=drafts)
def test_an_update_said_again_changes_nothing(before: Variable, draft: VariableDraft) -> None:
    try:
        once = draft.applied_to(before, "v-1")
    except Refusal:
        return
    twice = draft.applied_to(once, "v-1")
    assert replace(twice, version_id="") == replace(once, version_id="")
    hidden = ["value"] if once.sensitive and draft.value is not None else []
    assert draft.changed(once, twice) == hidden


@given(known=texts, guessed=texts)
def test_what_changed_does_not_tell_whether_a_guess_was_the_value(known: str, guessed: str) -> None:
    before = replace(MADE, value=known, sensitive=True)
    told = []
    for value in (known, guessed):
        draft = VariableDraft(value=value)
        told.append(draft.changed(before, draft.applied_to(before, "v-1")))
    assert told == [["value"], ["value"]]


def test_every_fault_is_told_at_once_those_of_the_document_first() -> None:
    of_document = Fault(Code.WRONG_TYPE, "", pointer="/data/attributes/hcl")
    more = Fault(Code.WORKSPACE_FULL, "", pointer="/data")
    draft = VariableDraft(
        key="a =" + "x" * MAX_KEY_CHARACTERS,
        value="x" * (MAX_VALUE_BYTES + 1),
        description="x" * (MAX_DESCRIPTION_CHARACTERS + 1),
        sensitive=False,
        faults=(of_document,),
    )
    with pytest.raises(Refusal) as refusal:
        draft.applied_to(replace(MADE, value=None, sensitive=True), "v-1", [more])
    longest = VariableDraft(description="x" * MAX_DESCRIPTION_CHARACTERS)
    assert longest.applied_to(MADE, "v-1").description == longest.description
    assert [(fault.code, fault.pointer) for fault in refusal.value.faults] == [
        (Code.WRONG_TYPE, "/data/attributes/hcl"),
        (Code.WORKSPACE_FULL, "/data"),
        (Code.INVALID_VALUE, "/data/attributes/key"),
        (Code.INVALID_VALUE, "/data/attributes/key"),
        (Code.INVALID_VALUE, "/data/attributes/value"),
        (Code.INVALID_VALUE, "/data/attributes/description"),
        (Code.SENSITIVE_IS_PERMANENT, "/data/attributes/sensitive"),
    ]


@pytest.mark.parametrize("key", ["", "a b", "a=b", "a\n", "\x00", "\x7f", "\x85", "a\u2003b"])
def test_keys_that_no_environment_could_hold_are_refused(key: str) -> None:
    draft = VariableDraft(key=key, category=Category.ENV)
    assert refused(draft) == [(Code.INVALID_VALUE, "/data/attributes/key")]


@given(char=st.characters(codec="utf-8"), over=st.integers(0, 1))
def test_a_value_is_measured_in_bytes_of_utf_8(char: str, over: int) -> None:
    count = MAX_VALUE_BYTES // len(char.encode()) + over
    draft = VariableDraft(key="k", value=char * count, category=Category.ENV)
    if value_size(char * count) <= MAX_VALUE_BYTES:
        assert draft.build(WORKSPACE.id, 1, IDS).value == char * count
    else:
        assert refused(draft) == [(Code.INVALID_VALUE, "/data/attributes/value")]


@given(before=stored, draft=drafts)
def test_code_is_a_value_that_the_request_makes_code_and_that_can_be_read(
    before: Variable, draft: VariableDraft
) -> None:
    try:
        after = draft.applied_to(before, "v-1")
    except Refusal:
        return
    code = draft.code(before)
    bears_on_it = {"value", "hcl", "category"} & said(draft).keys()
    is_code = after.hcl and after.category is Category.TOOL
    assert (code is not None) == bool(is_code and bears_on_it and after.value is not None)
    if code is not None:
        assert code.text == after.value
        assert code.pointer.removeprefix("/data/attributes/") in bears_on_it


AT = "/data/attributes"


@pytest.mark.parametrize(
    ("draft", "pointer"),
    [
        (VariableDraft(value="1", hcl=True), None),
        (VariableDraft(value="1", hcl=True, category=Category.ENV), None),
        (VariableDraft(value="1", hcl=True, category=Category.TOOL), f"{AT}/value"),
        (VariableDraft(hcl=True, category=Category.TOOL), f"{AT}/hcl"),
        (VariableDraft(category=Category.TOOL), None),
        (VariableDraft(value="1", category=Category.TOOL), None),
    ],
)
def test_a_new_variable_is_code_if_the_request_says_so_and_can_be_read(
    draft: VariableDraft, pointer: str | None
) -> None:
    code = draft.code(None)
    assert (code and code.pointer) == pointer
    elsewhere = replace(draft, faults=(Fault(Code.INVALID_VALUE, "", pointer=f"{AT}/key"),))
    assert elsewhere.code(None) == code
    unread = replace(draft, faults=(Fault(Code.INVALID_VALUE, "", pointer=f"{AT}/value"),))
    assert unread.code(None) is None


def test_no_value_is_shown_by_a_repr() -> None:
    draft = VariableDraft(key="k", value="canary-value", category=Category.ENV)
    shown = (
        f"{draft!r} {draft.build(WORKSPACE.id, 1, IDS)!r} {draft.code(replace(MADE, hcl=True))!r}"
    )
    assert "canary-value" not in shown


@pytest.mark.parametrize(
    ("given", "pointers"),
    [
        (WorkspaceFilter(), []),
        (WorkspaceFilter("NETWORK", "acme"), []),
        (WorkspaceFilter("other", "acme"), ["/filter/workspace/name"]),
        (
            WorkspaceFilter("other", "others"),
            ["/filter/workspace/name", "/filter/organization/name"],
        ),
    ],
)
def test_a_filter_names_the_workspace_of_the_path(
    given: WorkspaceFilter, pointers: list[str]
) -> None:
    assert [fault.pointer for fault in given.faults(WORKSPACE)] == pointers
