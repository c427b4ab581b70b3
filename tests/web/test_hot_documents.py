"""Hot documents are read by their type, or by hand where that finds a fault: alike."""

from typing import Any, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from teamvars.domain.team_members import MAX_ITEMS, LinkageType
from teamvars.web import members
from teamvars.web.dialects import STANDARD, TERRAFORM, Dialect
from teamvars.web.variables.requests import NewVariableAttributes, create_draft, update_draft

TEXTS = st.sampled_from(["", "a", "a b", "a\0", "x" * 600, "é" * 200_000]) | st.text(max_size=5)
ODD: st.SearchStrategy[Any] = st.sampled_from([None, 0, True, [], {}, "a"])
TYPES = get_type_hints(NewVariableAttributes)
STRINGS = sorted(name for name, type_ in TYPES.items() if type_ is str)
ATTRIBUTES = {
    **{name: TEXTS if type_ is str else st.booleans() for name, type_ in TYPES.items()},
    "category": st.sampled_from(["tool", "env", "terraform", "", "other"]),
}
PLAIN = st.fixed_dictionaries({}, optional=ATTRIBUTES)
FAULTY = st.fixed_dictionaries(
    {}, optional={**{name: one | ODD for name, one in ATTRIBUTES.items()}, "version-id": ODD}
)
DOCUMENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["vars", "vars", "other"]), "attributes": PLAIN | FAULTY},
    optional={"id": st.sampled_from(["", "var-1", "var-2"]) | ODD, "relationships": ODD},
)
READ_BY_HAND = {"jsonapi": {"version": "1.1"}}
"""A member that means nothing, and that no type has."""


@pytest.mark.parametrize("dialect", [STANDARD, TERRAFORM], ids=lambda one: one.name)
@example({"type": "vars", "attributes": {"key": "a", "category": "env", "description": ""}})
@example({"type": "vars", "attributes": {"key": "a", "value": "\0"}, "id": "var-1"})
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_a_document_means_the_same_whichever_way_it_is_read(
    dialect: Dialect, data: dict[str, Any]
) -> None:
    by_type, by_hand = {"data": data}, {"data": data, **READ_BY_HAND}
    assert create_draft(by_type, "ws-1", dialect) == create_draft(by_hand, "ws-1", dialect)
    ids = "ws-1", "var-1"
    assert update_draft(by_type, *ids, dialect) == update_draft(by_hand, *ids, dialect)


@pytest.mark.parametrize("name", STRINGS)
def test_no_string_of_a_variable_holds_a_nul(name: str) -> None:
    attributes = {"key": "a", "category": "env", "description": "", name: "a\0"}
    document = {"data": {"type": "vars", "id": "var-1", "attributes": attributes}}
    changed = update_draft(document, "ws-1", "var-1", STANDARD)
    del document["data"]["id"]
    created, _ = create_draft(document, "ws-1", STANDARD)
    for way, draft in {"a create": created, "an update": changed}.items():
        pointers = {fault.pointer for fault in draft.faults}
        assert pointers == {f"/data/attributes/{name}"}, f"{way} lets a NUL into {name}"


@pytest.mark.parametrize("linkage", LinkageType)
def test_no_id_of_a_member_holds_a_nul(linkage: LinkageType) -> None:
    items = [{"type": linkage.value, "id": "a"}, {"type": linkage.value, "id": "a\0"}]
    (fault,) = members.draft({"data": items}, linkage).faults
    assert fault.pointer == "/data/1/id"


@example([{"type": "users", "id": "user-1"}] * (MAX_ITEMS + 1))
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["users", "users", "organization-memberships"]), "id": TEXTS},
            optional={"meta": ODD},
        )
        | st.just({"type": "users", "id": "user-1"})
        | ODD,
        max_size=4,
    )
)
def test_so_does_one_of_members(items: list[Any]) -> None:
    for linkage in LinkageType:
        by_hand = members.draft({"data": items, **READ_BY_HAND}, linkage)
        assert members.draft({"data": items}, linkage) == by_hand
