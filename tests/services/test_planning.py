"""What becomes of each variable, and what a plan tells of it before and after it is made."""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from teamvars.changes import Tools
from teamvars.changes.waves import Known
from teamvars.decisions import Needs, Verdict
from teamvars.domain.access import Level, SetAccess, WorkspaceAccess, WrappedKey
from teamvars.domain.applies import MAX_CODE_BYTES, ItemDraft, Outcome, Result
from teamvars.domain.audit import Stream
from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.keys import Sealed
from teamvars.domain.set_effects import Alteration
from teamvars.domain.variable_sets import Owner, VariableSet
from teamvars.domain.variables import StoredVariable, Variable, VariableDraft
from teamvars.domain.workspaces import Quota, Usage, Workspace
from teamvars.kernel.variables import MAX_VALUE_BYTES, Category, value_size
from teamvars.pace import Pace
from teamvars.security import keyring
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer
from teamvars.services import planning
from teamvars.services.planning import Applied, Moved, Plan, Planner, Step
from teamvars.storage import streams, variable_sets, variables
from tests.security.samples import VARIABLE

OWNER = Workspace("ws-1", "network", "org-1", "acme")
SET = VariableSet("varset-1", "shared", "org-1", "acme", is_global=True)
TOOLS = Tools(Sealer(KEYS := keyring.generate()), Chain(KEYS), lambda: 7)
WRAPPED = TOOLS.sealer.new_data_key("org-1", 1)
KEY = TOOLS.sealer.data_key(WRAPPED)
NO_LIMIT = Quota(None, None)
STREAM = Stream("ws-1", "org-1", 3, b"link", b"head", Usage())


def step(outcome: Outcome, key: str = "region", *changed: str) -> Step:
    variable = replace(VARIABLE, id=f"var-{key}", key=key)
    return Step(outcome, StoredVariable(variable, None, 0), changed)


def name(key: str) -> tuple[str, Category]:
    return key, VARIABLE.category


@pytest.mark.parametrize(
    ("outcome", "dry_run", "id_", "version"),
    [
        (Outcome.CREATED, False, "var-region", "1"),
        (Outcome.UPDATED, False, "var-region", "1"),
        (Outcome.CREATED, True, None, None),
        (Outcome.UPDATED, True, "var-region", None),
        (Outcome.UNCHANGED, True, "var-region", "1"),
        (Outcome.DELETED, True, "var-region", "1"),
    ],
)
def test_a_dry_run_tells_no_id_that_it_would_have_made(
    outcome: Outcome, dry_run: bool, id_: str | None, version: str | None
) -> None:
    told = step(outcome, "region", "value").result(dry_run=dry_run)
    assert told == Result(name("region"), outcome, ("value",), id_, version)


def test_runs_notice_all_that_is_changed_but_descriptions() -> None:
    gone = Result(name("never there"), Outcome.DELETED, (), None, None)
    plan = Plan(
        (
            step(Outcome.CREATED, "a"),
            step(Outcome.UPDATED, "b", "description"),
            step(Outcome.UPDATED, "c", "description", "value"),
            step(Outcome.UNCHANGED, "d"),
            replace(step(Outcome.UPDATED, "e", "key"), former=name("f")),
            step(Outcome.DELETED, "g"),
            gone,
        ),
        Usage(),
    )
    made, deleted, updated = ({name(key)} for key in "agc")
    assert plan.alteration == Alteration(
        frozenset(made), frozenset(deleted), frozenset(updated | {name("e")})
    )
    assert [one.name[0] for one in plan.changes] == ["a", "b", "c", "e", "g"]
    assert [one.name[0] for one in plan.renamed] == ["e"]
    told = Applied.of(plan, OWNER, "version")
    assert [one.name[0] for one in told.results] == [*"abcdeg", "never there"]


class Shelf:
    """The variables of a workspace or a set, in no store; `asked` says whose values were opened."""

    def __init__(self, *held: Variable, quota: Quota = NO_LIMIT) -> None:
        self.asked: list[str] = []
        self.taken: Sequence[tuple[str, Category]] = ()
        self.sealed: Mapping[str, Sealed] = {}
        """What is stored of some, instead of what was."""
        self._held = held
        self._house: Any = SimpleNamespace(
            tools=TOOLS, quotas={Workspace: quota, VariableSet: quota}
        )

    async def pages(self, *_: object) -> AsyncIterator[Sequence[StoredVariable]]:
        yield [
            StoredVariable(one.with_value(None), None, value_size(one.value or ""))
            for one in self._held
        ]

    async def sealed_values(self, *place: Any) -> Mapping[str, Sealed]:
        ids = place[-1]
        self.asked += ids
        here = {one.id: KEY.seal(one.value or "", one) for one in self._held if one.id in ids}
        return {**here, **self.sealed}

    async def names_in_others(self, *_: object) -> Sequence[tuple[str, Category]]:
        return self.taken

    async def plan(
        self,
        *items: ItemDraft,
        known: Known | None = None,
        owner: Owner = OWNER,
        prune: bool = False,
    ) -> Plan:
        """What becomes of them, and with `prune` of all others."""
        nothing: Any = None  # what is asked of a store is answered here
        usage = Usage(len(self._held), sum(value_size(one.value or "") for one in self._held))
        kind: Any = SetAccess if isinstance(owner, VariableSet) else WorkspaceAccess
        granted = kind(owner, Level.WRITE, key=WRAPPED, stream=replace(STREAM, usage=usage))
        planner = Planner(nothing, self._house, granted, known, Pace())
        await planner.read()
        planner.require_versions(items)
        await planner.put(items)
        if prune:
            planner.prune()
        return planner.plan()

    async def faults(self, *items: ItemDraft, **more: Any) -> list[tuple[str, str | None]]:
        """Why there is no plan."""
        with pytest.raises(Refusal) as refused:
            await self.plan(*items, **more)
        return [(fault.code.word, fault.pointer) for fault in refused.value.faults]


@pytest.fixture
def shelf_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    def shelf_of(*held: Variable, **more: Any) -> Shelf:
        shelf = Shelf(*held, **more)
        for name in ("pages", "sealed_values"):
            monkeypatch.setattr(variables, name, getattr(shelf, name))
        monkeypatch.setattr(variable_sets, "names_in_others", shelf.names_in_others)
        return shelf

    return shelf_of


def there(key: str = "region", value: str = "eu", **more: Any) -> Variable:
    return replace(VARIABLE, id=f"var-{key}", key=key, value=value, **more)


def item(
    key: str | None = "region", value: str | None = "eu", at: str = "/0", **said: Any
) -> ItemDraft:
    more = {name: said.pop(name) for name in ("expected", "goes") if name in said}
    said = {"category": Category.TOOL, **said}
    return ItemDraft(VariableDraft(key, value, at=f"{at}/attributes", **said), at=at, **more)


def renaming(id_: str | None, key: str, at: str = "/0", **said: Any) -> ItemDraft:
    draft = VariableDraft(key, None, at=f"{at}/attributes", **said)
    return ItemDraft(draft, at=at, variable_id=id_)


NO_KEY = Fault(Code.INVALID_VALUE, "is missing", "/0/attributes/key")
NO_ID = Fault(Code.INVALID_VALUE, "is a number", "/0/id")
CODE: dict[str, Any] = {"category": Category.TOOL, "hcl": True}
LONG = [item(f"k{number}", "é" * (MAX_CODE_BYTES // 8), **CODE) for number in range(4)]
GOOD: Known = {Verdict(one.draft.value or ""): None for one in (*LONG, item(value="1"))}


@pytest.mark.parametrize(
    ("before", "said", "changed", "takes_value"),
    [
        ({}, {"value": "eu"}, None, True),
        ({}, {"value": "us"}, ["value"], True),
        ({}, {"value": "far"}, ["value"], False),
        ({}, {"description": "where"}, ["description"], False),
        ({"sensitive": True}, {"description": "where"}, ["description"], False),
        ({"sensitive": True}, {"value": "eu"}, ["value"], False),
        ({"sensitive": True}, {**CODE}, ["hcl"], False),
        ({}, {"sensitive": True}, ["sensitive"], True),
        ({}, {"sensitive": True, "value": "eu"}, ["value", "sensitive"], False),
        ({}, {"sensitive": False}, None, False),
        ({}, {"hcl": True}, ["hcl"], True),
        ({"hcl": True}, {"hcl": True, "description": "where"}, ["description"], False),
        ({"hcl": True}, {"hcl": False}, ["hcl"], False),
        ({"category": Category.ENV}, {"hcl": True}, ["hcl"], False),
        ({"category": Category.ENV, "hcl": True}, {"category": Category.TOOL}, ["category"], True),
        ({"category": Category.ENV}, {"category": Category.TOOL}, ["category"], False),
        ({"hcl": True}, {"category": Category.ENV}, ["category"], False),
    ],
)
async def test_a_value_is_opened_only_where_that_shows_what_changes_or_changes_it(
    shelf_of: Any, before: Any, said: Any, changed: Sequence[str] | None, takes_value: bool
) -> None:
    shelf = shelf_of(one := there(**before))
    wanted = ItemDraft(VariableDraft(**{"value": None, **said}), variable_id=one.id)
    (step,) = (await shelf.plan(wanted)).steps
    assert step.outcome is (Outcome.UNCHANGED if changed is None else Outcome.UPDATED)
    assert sorted(step.changed) == sorted(changed or ())
    assert shelf.asked == ([one.id] if takes_value else [])
    is_sealed = bool({"value", "sensitive"} & {*step.changed})
    assert (step.stored.sealed is not None) is is_sealed
    if is_sealed:
        after = step.stored.variable
        assert KEY.open(step.stored.sealed, after) == said.get("value", "eu")
    renamed = changed == ["category"]
    assert step.former == ((one.key, one.category) if renamed else None)


@pytest.mark.parametrize(
    ("said", "is_refused"),
    [
        ({"sensitive": True}, True),
        ({"hcl": True}, True),
        ({"value": "us"}, False),
        ({"sensitive": True, "value": "us"}, False),
        ({"description": "where"}, False),
    ],
)
async def test_a_value_that_does_not_open_is_written_over_and_not_sealed_anew(
    shelf_of: Any, said: Any, is_refused: bool
) -> None:
    shelf = shelf_of(one := there())
    shelf.sealed = {one.id: Sealed(b"broken", 1)}
    wanted = item(**{"value": None, **said})
    if is_refused:
        assert await shelf.faults(wanted) == [("damaged_value", "/0/attributes/value")]
    else:
        (step,) = (await shelf.plan(wanted)).steps
        assert step.outcome is Outcome.UPDATED


@pytest.mark.parametrize(
    ("known", "items", "outcome"),
    [
        (None, [item(value="(", **CODE)], "done"),  # whoever has it has parsed it
        ({}, [item(value="(", **CODE)], "asks"),
        ({}, [item(value="(", category=Category.ENV)], "done"),
        ({}, [item(value="x" * MAX_VALUE_BYTES, **CODE)], "asks"),
        ({}, [item(value="x" * (MAX_VALUE_BYTES + 1), **CODE)], ["invalid_value"]),
        (GOOD, LONG, "done"),
        (GOOD, [*LONG, item(value="1", **CODE)], ["too_complex"]),
    ],
)
async def test_code_is_parsed_that_is_new_and_not_too_much(
    shelf_of: Any, known: Known | None, items: Sequence[ItemDraft], outcome: object
) -> None:
    async def told() -> object:
        try:
            await shelf_of().plan(*items, known=known)
        except Needs as needs:
            return "asks" if len(needs.needs) == len(items) else needs
        except Refusal as refused:
            return [fault.code.word for fault in refused.faults]
        return "done"

    assert await told() == outcome


async def test_code_that_is_there_is_not_parsed_again(shelf_of: Any) -> None:
    shelf = shelf_of(there(value="(", hcl=True))
    (step,) = (await shelf.plan(item(value=None, sensitive=True, hcl=True), known={})).steps
    assert step.changed == ["sensitive"]


@pytest.mark.parametrize(
    ("items", "faults"),
    [
        ([item("new"), item("new", at="/1")], [("key_taken", "/1/attributes/key")]),
        ([item("new"), item("newer", at="/1")], [("workspace_full", "/data")]),
        ([item(expected="2")], [("precondition_failed", "/0/meta/version-id")]),
        ([item(None, expected="2", faults=(NO_KEY,))], [("invalid_value", "/0/attributes/key")]),
        (
            [item(None, at=at, faults=(replace(NO_KEY, pointer=at),)) for at in ("/0", "/1")],
            [("invalid_value", "/0"), ("invalid_value", "/1")],
        ),
        ([renaming("var-gone", "far")], [("invalid_value", "/0/id")]),
        ([renaming(None, "far", faults=(NO_ID,))], [("invalid_value", "/0/id")]),
    ],
)
async def test_what_is_at_fault_is_told_at_its_place(
    shelf_of: Any, items: Sequence[ItemDraft], faults: object
) -> None:
    shelf = shelf_of(there(), quota=Quota(2, None))
    assert await shelf.faults(*items) == faults


@pytest.mark.parametrize(
    ("names", "taken"),
    [
        ([("region", "zone")], ["/0"]),
        ([("region", "zone"), ("zone", "region")], []),
        ([("region", "zone"), ("zone", "far")], []),
        ([("region", "far"), ("zone", "far")], ["/1"]),
        ([("region", "far"), ("zone", "region")], []),
    ],
)
async def test_a_variable_gets_a_key_that_none_has_once_all_are_renamed(
    shelf_of: Any, names: Sequence[tuple[str, str]], taken: Sequence[str]
) -> None:
    shelf = shelf_of(there(), there("zone"))
    items = [renaming(f"var-{old}", new, f"/{at}") for at, (old, new) in enumerate(names)]
    if taken:
        assert await shelf.faults(*items) == [("key_taken", f"{at}/attributes/key") for at in taken]
    else:
        steps = (await shelf.plan(*items)).steps
        assert [step.former for step in steps] == [name(old) for old, _ in names]


async def test_what_goes_makes_room_and_what_was_never_there_stays_so(shelf_of: Any) -> None:
    items = item(goes=True), item("never", goes=True, at="/1"), item("new", "1", at="/2")
    plan = await shelf_of(there(value="long")).plan(*items)
    assert [one.outcome for one in plan.steps] == ["deleted", "unchanged", "created"]
    assert plan.usage == Usage(1, 1)


async def test_what_is_not_said_goes_where_nothing_else_is_to_be(shelf_of: Any) -> None:
    shelf = shelf_of(one := there(), there("zone"))
    plan = await shelf.plan(item(expected=one.version_id), prune=True)
    assert [(step.name[0], step.outcome) for step in plan.steps] == [
        ("region", "unchanged"),
        ("zone", "deleted"),
    ]


@pytest.mark.parametrize(
    ("wanted", "is_taken"),
    [
        (item("zone"), True),
        (item("zone", category=Category.ENV), False),
        (item("zone", goes=True), False),
        (item("region"), False),
    ],
)
async def test_a_new_key_of_a_global_set_is_one_that_no_other_has(
    shelf_of: Any, wanted: ItemDraft, is_taken: bool
) -> None:
    shelf = shelf_of(there())
    shelf.taken = [("zone", Category.TOOL)]
    if is_taken:
        assert await shelf.faults(wanted, owner=SET) == [("key_taken", "/0/attributes/key")]
        await shelf.plan(wanted, owner=replace(SET, is_global=False))
        await shelf.plan(wanted)
    else:
        await shelf.plan(wanted, owner=SET)
    nameless = item(None, at="/1", faults=(NO_KEY,))
    assert ("invalid_value", "/0/attributes/key") in await shelf.faults(wanted, nameless, owner=SET)


def at(head: bytes = b"head", level: Level = Level.WRITE, key: WrappedKey = WRAPPED) -> Any:
    return WorkspaceAccess(OWNER, level, key=key, stream=replace(STREAM, head=head))


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        (at(), True),
        (at(b"other"), False),
        (at(level=Level.OWNER), False),
        (at(key=replace(WRAPPED, version=2)), False),
    ],
)
def test_a_plan_holds_while_nothing_has_changed_that_it_was_made_by(now: Any, holds: bool) -> None:
    assert planning.is_unchanged(at(), now) is holds


@pytest.mark.parametrize(
    ("counted", "present", "moved"),
    [
        (1, None, False),
        (2, STREAM, False),
        (2, replace(STREAM, head=b"other"), True),
        (2, None, True),
    ],
)
async def test_who_finds_fewer_variables_than_are_counted_looks_whether_the_place_has_moved(
    shelf_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    counted: int,
    present: Stream | None,
    moved: bool,
) -> None:
    shelf_of(there())

    async def find(*_: object) -> Stream | None:
        return present

    monkeypatch.setattr(streams, "find", find)
    granted = replace(at(), stream=replace(STREAM, usage=Usage(counted)))
    nothing: Any = None
    looked = planning.by_name(nothing, granted, Pace())
    if moved:
        with pytest.raises(Moved):
            await looked
    else:
        assert set(await looked) == {name("region")}


async def test_whose_values_are_gone_meanwhile_has_moved(
    shelf_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find(*_: object) -> Stream | None:
        return None

    monkeypatch.setattr(streams, "find", find)
    shelf_of(there())
    stored = StoredVariable(there("zone").with_value(None), None, 2)
    nothing: Any = None
    with pytest.raises(Moved):
        await planning.opened(nothing, at(), KEY, [stored])


async def test_large_values_are_opened_one_by_one(shelf_of: Any, monkeypatch: Any) -> None:
    shelf = shelf_of(*(there(key, "x" * MAX_VALUE_BYTES) for key in "abc"))
    opened, some = planning.opened, []

    async def noted(*place: Any) -> Mapping[str, str]:
        some.append(len(place[-1]))
        return await opened(*place)

    monkeypatch.setattr(planning, "opened", noted)
    await shelf.plan(*(item(key, None, sensitive=True) for key in "abc"))
    await shelf.plan(*(item(key, None, description="where") for key in "abc"))
    assert some == [1, 1, 1, 0]
