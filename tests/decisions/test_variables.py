"""What becomes of requests about variables, for everything that there may be to find."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.decisions import Decision, Found, Need, Needs, Verdict
from teamvars.decisions.variables import (
    Creation,
    Delete,
    Edit,
    Insert,
    ToSet,
    ToWorkspace,
    Update,
    ValueOf,
    VariableOf,
    create,
    delete,
    update,
)
from teamvars.domain.access import Caller, Level, SetAccess, WorkspaceAccess, WrappedKey
from teamvars.domain.audit import Actor, Stream
from teamvars.domain.errors import (
    KEY_TAKEN,
    KEY_TAKEN_IN_SET,
    Code,
    Fault,
    Refusal,
    not_found,
)
from teamvars.domain.keys import Sealed
from teamvars.domain.variable_sets import VariableSet
from teamvars.domain.variables import ANY_VERSION, StoredVariable, Variable, VariableDraft, Versions
from teamvars.domain.workspaces import Quota, Usage, Workspace, WorkspaceFilter
from teamvars.kernel.variables import MAX_VALUE_BYTES, Category

WORKSPACE = Workspace("ws-1", "network", "org-1", "acme")
NOW = 7
ROOM = Quota(10, 1000)
ACCESS, THERE = ToWorkspace("ws-1"), VariableOf(ToWorkspace("ws-1"), "var-1")
ROW = Variable("var-1", "ws-1", "k", None, "d", Category.TOOL, False, False, "v-0", 1)
DRAFT = VariableDraft(key="k", value="ab", category=Category.TOOL)
BROKEN = Fault(Code.HCL_SYNTAX, "At line 1, column 1: no.")
LOST = None


def granted(level: Level, usage: Usage = Usage(1, 2)) -> WorkspaceAccess:  # noqa: B008 - frozen
    stream = Stream("ws-1", "org-1", 1, b"", b"", usage)
    return WorkspaceAccess(WORKSPACE, level, stream, WrappedKey("org-1", 1, "k", b""))


def found(answers: dict[Need[Any], Any]) -> Found:
    """What a user decides by who has found all this."""
    known = Found(Caller(b"", "req-1", Actor("user", "user-1", "at-1")), NOW)
    known.answers |= answers
    return known


def writable(value: str | None = "ab", **row: Any) -> dict[Need[Any], Any]:
    """The answers for a writer about a variable with that value; None: it is damaged."""
    stored = StoredVariable(replace(ROW, **row), Sealed(b"sealed", 1), 2)
    return {ACCESS: granted(Level.WRITE), THERE: stored, ValueOf(THERE): value}


def creating(draft: VariableDraft = DRAFT, quota: Quota = ROOM, **names: str) -> Any:
    asked = Creation(ToWorkspace("ws-1"), draft, "var-2", "v-2", WorkspaceFilter(**names))
    return lambda known: create(known, asked, {Workspace: quota})


def updating(
    draft: VariableDraft, versions: Versions = ANY_VERSION, quota: Quota = ROOM
) -> Callable[[Found], Decision[Any]]:
    return lambda known: update(known, Edit(THERE, draft, versions, "v-2"), {Workspace: quota})


def deleting(versions: Versions = ANY_VERSION) -> Callable[[Found], Decision[None]]:
    return lambda known: delete(known, THERE, versions)


OLD = Versions(frozenset({"v-9"}))
VALUE, SAYS_NOTHING = VariableDraft(value="abc"), VariableDraft()
SECRET, CODE = VariableDraft(sensitive=True), VariableDraft(hcl=True)
READABLE = VariableDraft(sensitive=False)
LONGEST = replace(DRAFT, hcl=True, value="a" * MAX_VALUE_BYTES)
LONG = replace(LONGEST, value="a" * (MAX_VALUE_BYTES + 1))
LARGE = Quota(10, 2 * MAX_VALUE_BYTES)
SMALL, FULL = Quota(10, 2), Quota(1, 1000)


@pytest.mark.parametrize(
    ("decide", "answers", "need"),
    [
        (creating(), {}, ACCESS),
        (creating(replace(DRAFT, hcl=True)), {ACCESS: granted(Level.WRITE)}, Verdict("ab")),
        (updating(VALUE), {}, ACCESS),
        (updating(VALUE), {ACCESS: granted(Level.READ)}, THERE),
        (updating(VALUE), {**writable(), ValueOf(THERE): ...}, ValueOf(THERE)),
        (updating(CODE), writable(), Verdict("ab")),
        (updating(replace(CODE, value="c")), writable(sensitive=True), Verdict("c")),
        (deleting(), {ACCESS: granted(Level.WRITE)}, THERE),
    ],
)
def test_what_is_asked_for_next(
    decide: Callable[[Found], object], answers: dict[Need[Any], Any], need: Need[Any]
) -> None:
    known = {each: answer for each, answer in answers.items() if answer is not ...}
    with pytest.raises(Needs) as needs:
        decide(found(known))
    assert needs.value.need == need


NOT_THERE = {ACCESS: granted(Level.READ), THERE: not_found()}
READS = {**writable(), ACCESS: granted(Level.READ)}


@pytest.mark.parametrize(
    ("decide", "answers", "codes"),
    [
        (creating(), {ACCESS: granted(Level.NONE)}, ["not_found"]),
        (creating(VariableDraft(key="")), {ACCESS: granted(Level.READ)}, ["forbidden"]),
        (creating(quota=FULL), writable(), ["workspace_full"]),
        (creating(quota=Quota(1, 3)), writable(), ["workspace_full", "workspace_full"]),
        (creating(workspace_name="Other"), writable(), ["invalid_value"]),
        (
            creating(replace(DRAFT, hcl=True, key="a b")),
            {**writable(), Verdict("ab"): BROKEN},
            ["hcl_syntax", "invalid_value"],
        ),
        (creating(LONG, LARGE), writable(), ["invalid_value"]),
        (updating(VALUE), {ACCESS: granted(Level.NONE)}, ["not_found"]),
        (updating(VALUE), NOT_THERE, ["not_found"]),
        (updating(VALUE), READS, ["forbidden"]),
        (updating(VALUE, OLD), writable(), ["precondition_failed"]),
        (updating(VALUE, quota=SMALL), writable(), ["workspace_full"]),
        (updating(CODE), {**writable(), Verdict("ab"): BROKEN}, ["hcl_syntax"]),
        (updating(SAYS_NOTHING), writable(LOST), ["damaged_value"]),
        (updating(SECRET), writable(LOST), ["damaged_value"]),
        (updating(READABLE), writable(sensitive=True), ["sensitive_is_permanent"]),
        (deleting(), {ACCESS: granted(Level.NONE)}, ["not_found"]),
        (deleting(), NOT_THERE, ["not_found"]),
        (deleting(), READS, ["forbidden"]),
        (deleting(OLD), writable(), ["precondition_failed"]),
    ],
)
def test_what_is_refused_and_in_which_order(
    decide: Callable[[Found], object], answers: dict[Need[Any], Any], codes: list[str]
) -> None:
    with pytest.raises(Refusal) as refusal:
        decide(found(answers))
    assert [fault.code.word for fault in refusal.value.faults] == codes


def test_a_fault_of_code_points_to_what_made_it_code() -> None:
    for draft, pointer in ((CODE, "hcl"), (replace(CODE, value="ab"), "value")):
        with pytest.raises(Refusal) as refusal:
            updating(draft)(found({**writable(), Verdict("ab"): BROKEN}))
        assert refusal.value.faults == (replace(BROKEN, pointer=f"/data/attributes/{pointer}"),)


def test_code_is_judged_up_to_the_longest_there_may_be() -> None:
    known = found(writable())
    with pytest.raises(Needs) as needs:
        creating(LONGEST, LARGE)(known)
    known.answers[needs.value.need] = None
    assert creating(LONGEST, LARGE)(known).answer.variable.value == LONGEST.value


def test_what_else_changes_of_a_sensitive_variable_asks_for_no_value() -> None:
    known = writable(sensitive=True)
    del known[ValueOf(THERE)]
    decision = updating(VariableDraft(description="n"))(found(known))
    assert decision.answer.variable.value is None


def test_a_new_variable_has_the_ids_it_was_given_and_the_time_of_the_look_up() -> None:
    decision = creating()(found(writable()))
    (write,), (note,) = decision.writes, decision.notes
    assert isinstance(write, Insert)
    made = write.variable
    assert (made.id, made.version_id, made.created_at, made.value) == ("var-2", "v-2", NOW, "ab")
    assert (note.stream_id, note.event.action, note.event.at) == ("ws-1", "variable.create", NOW)
    assert (decision.usage, write.value_bytes) == (Usage(2, 4), 2)
    assert decision.answer.variable == made


@pytest.mark.parametrize(
    ("draft", "row", "sealed_anew", "changed"),
    [
        (VALUE, {}, "abc", ["value"]),
        (VariableDraft(value="ab"), {}, "ab", []),
        (VariableDraft(key="n"), {}, None, ["key"]),
        (VariableDraft(description="n"), {"sensitive": True}, None, ["description"]),
        (SECRET, {}, "ab", ["sensitive"]),
        (VALUE, {"sensitive": True}, "abc", ["value"]),
        (VALUE, {"value": LOST}, "abc", ["value"]),
    ],
)
def test_a_value_is_sealed_anew_when_it_or_the_flag_changes_and_never_else(
    draft: VariableDraft, row: dict[str, Any], sealed_anew: str | None, changed: list[str]
) -> None:
    decision = updating(draft)(found(writable(**row)))
    (write,), (note,) = decision.writes, decision.notes
    assert isinstance(write, Update)
    assert write.value == sealed_anew
    assert note.event.details["changed"] == changed
    assert ("from" in note.event.details) is ("key" in changed)
    assert decision.answer.variable.version_id == "v-2"


def test_who_makes_or_changes_a_sensitive_value_is_not_shown_it() -> None:
    made = creating(replace(DRAFT, sensitive=True))(found(writable()))
    changed = updating(SECRET)(found(writable()))
    assert made.answer.variable.value is None
    assert changed.answer.variable.value is None


def test_a_damaged_variable_can_be_deleted_and_nothing_of_its_value_is_asked() -> None:
    known = writable()
    del known[ValueOf(THERE)]
    decision = deleting()(found(known))
    assert decision.writes == (Delete("ws-1", "var-1"),)
    assert decision.usage == Usage(0, 0)


def test_nothing_that_is_decided_shows_a_value() -> None:
    decisions = creating()(found(writable())), updating(VALUE)(found(writable()))
    shown = f"{[each.writes for each in decisions]!r} {Verdict('ab-secret')!r}"
    assert "ab" not in shown


def test_a_variable_of_a_set_is_made_in_its_stream_and_its_key_is_taken_there() -> None:
    to = ToSet("varset-1")
    stream = Stream("varset-1", "org-1", 1, b"", b"", Usage(1, 2))
    one = VariableSet("varset-1", "shared", "org-1", "acme")
    access = SetAccess(one, Level.WRITE, stream, WrappedKey("org-1", 1, "k", b""))
    asked = Creation(to, DRAFT, "var-2", "v-2")
    for decision, id_, taken in (
        (create(found({to: access}), asked, {VariableSet: ROOM}), to.owner_id, KEY_TAKEN_IN_SET),
        (creating()(found(writable())), ACCESS.owner_id, KEY_TAKEN),
    ):
        (write,) = decision.writes
        assert isinstance(write, Insert)
        assert (write.variable.owner_id, decision.notes[0].stream_id) == (id_, id_)
        assert decision.taken == taken
    assert (to.owner_id, ACCESS.owner_id) == ("varset-1", "ws-1")
