"""The table of texts: whoever uses one that leaves something open says what belongs there."""

import ast
from pathlib import Path
from string import Formatter

import pytest
from msgspec.structs import replace

import teamvars
from teamvars.domain import errors
from teamvars.domain.errors import (
    DAMAGED_VALUE,
    MOST_FAULTS,
    Code,
    Fault,
    Faults,
    Kind,
    Refusal,
    invalid,
    not_found,
    refuse_all,
    there_is_no,
)

OPEN = {
    name: blanks
    for name, row in vars(errors).items()
    if isinstance(row, Fault)
    and (blanks := {blank for _, blank, _, _ in Formatter().parse(row.detail) if blank})
}


def _said(call: ast.Call) -> set[str]:
    """What a call of `filled` gives, by name."""
    of_meta = [argument.keys for argument in call.args if isinstance(argument, ast.Dict)]
    names = [key.value for keys in of_meta for key in keys if isinstance(key, ast.Constant)]
    return {keyword.arg or "" for keyword in call.keywords} | {str(name) for name in names}


def test_every_text_is_filled_in_wherever_it_is_said() -> None:
    (room,) = teamvars.__path__
    uses = dict.fromkeys(OPEN, 0)  # beside those that fill it in
    for path in Path(room).rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
        ours = (each for each in imports if each.module == errors.__name__)
        known = OPEN.keys() & {alias.name for each in ours for alias in each.names}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in known:
                uses[node.id] += 1
        for node in nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="filled")):
                    if name in known:
                        uses[name] -= 1
                        assert OPEN[name] <= _said(node), f"{path}:{node.lineno}"
    assert uses == dict.fromkeys(OPEN, 0), "a text that is said as it stands"


def test_what_meta_says_is_in_the_text_and_apart_and_values_are_not_read_as_texts() -> None:
    fault = DAMAGED_VALUE.filled({"id": "var-1", "key": "{key}"}).at("/data/attributes/value")
    assert fault.detail.startswith("The stored value of {key} is damaged")
    assert fault.meta == {"id": "var-1", "key": "{key}"}
    assert fault.pointer == "/data/attributes/value"
    assert (DAMAGED_VALUE.meta, DAMAGED_VALUE.pointer) == (None, None)


def test_faults_of_one_kind_are_a_refusal_of_that_kind_and_others_make_it_invalid() -> None:
    unseen, forbidden = Fault(Code.NOT_FOUND, ""), Fault(Code.FORBIDDEN, "")
    assert Refusal(forbidden, forbidden).kind is Code.FORBIDDEN.kind
    assert Refusal(forbidden, unseen).kind is Kind.INVALID


def test_who_asks_for_a_former_name_is_told_the_present_one() -> None:
    for refusal, told in (
        (there_is_no("team x"), "There is no team x."),
        (there_is_no("team x", "y"), "There is no team x. It was renamed to y."),
    ):
        assert [fault.detail for fault in refusal.faults] == [told]
    (hinted,), (plain,) = not_found("It is y now.").faults, not_found().faults
    assert hinted.detail == f"{plain.detail} It is y now."


def test_so_many_faults_are_kept_and_the_last_of_them_counts_the_others() -> None:
    faults = Faults()
    some = [invalid("name", f"{n}") for n in range(MOST_FAULTS + 2)]
    faults.add(*some[: MOST_FAULTS - 1])
    assert (faults.room, faults.count) == (1, MOST_FAULTS - 1)
    assert faults.all() == tuple(some[: MOST_FAULTS - 1])
    faults.add(*some[MOST_FAULTS - 1 :])
    faults.omit(3)
    assert (faults.room, faults.count) == (0, MOST_FAULTS + 5)
    *others, last = faults.all()
    assert others == some[: MOST_FAULTS - 1]
    assert last == replace(some[MOST_FAULTS - 1], omitted=5)


def test_a_fault_that_counts_others_hands_them_on_to_the_last() -> None:
    faults = Faults()
    first, second = invalid("name", "1"), invalid("name", "2")
    faults.add(replace(first, omitted=2), second)
    assert faults.all() == (first, replace(second, omitted=2))


def test_of_a_member_of_the_wrong_type_nothing_else_is_told() -> None:
    wrong = Fault(Code.WRONG_TYPE, "No.", pointer="/data/attributes/name")
    faults = [invalid("name", "short"), wrong, invalid("email", "none"), Fault(Code.NAME_TAKEN, "")]
    with pytest.raises(Refusal) as refusal:
        refuse_all(faults)
    assert list(refusal.value.faults) == faults[1:]
    refuse_all([])
