"""Hot documents are read by their type, or by hand where that finds a fault: alike."""

import json
from typing import Any, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from teamvars.domain.linked import MAX_ITEMS
from teamvars.domain.memberships import LinkageType
from teamvars.web import teams
from teamvars.web.dialects import STANDARD, TERRAFORM, Dialect
from teamvars.web.http.json_body import parse
from teamvars.web.http.resource_objects import Identifier
from teamvars.web.variables.requests import (
    NewVariableAttributes,
    create_draft,
    plain,
    update_draft,
)

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


PLACE = Identifier("ws-1", "workspaces")


@pytest.mark.parametrize("dialect", [STANDARD, TERRAFORM], ids=lambda one: one.name)
@example({"type": "vars", "attributes": {"key": "a", "category": "env", "description": ""}})
@example({"type": "vars", "attributes": {"key": "a", "value": "\0"}, "id": "var-1"})
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS)
def test_a_document_means_the_same_whichever_way_it_is_read(
    dialect: Dialect, data: dict[str, Any]
) -> None:
    by_type, by_hand = {"data": data}, {"data": data, **READ_BY_HAND}
    assert create_draft(by_type, PLACE, dialect) == create_draft(by_hand, PLACE, dialect)
    ids = PLACE, "var-1"
    assert update_draft(by_type, *ids, dialect) == update_draft(by_hand, *ids, dialect)


@pytest.mark.parametrize("dialect", [STANDARD, TERRAFORM], ids=lambda one: one.name)
@example({"type": "vars", "attributes": {"key": "a", "category": "env", "description": "é"}}, False)
@example({"type": "vars", "attributes": {"key": "a", "category": "env", "value": '"'}}, False)
@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.booleans())
def test_a_body_means_the_same_whether_it_is_decoded_or_parsed(
    dialect: Dialect, data: dict[str, Any], has_escapes: bool
) -> None:
    body = json.dumps({"data": data}, ensure_ascii=has_escapes).encode(errors="surrogatepass")
    decoded = plain(body)
    if decoded is None:
        return
    parsed, ids = parse(body), (PLACE, "var-1")
    assert create_draft(decoded, PLACE, dialect) == create_draft(parsed, PLACE, dialect)
    assert update_draft(decoded, *ids, dialect) == update_draft(parsed, *ids, dialect)


WITHOUT_FAULT = '{"data": {"type": "vars", "id": "var-1", "attributes": {"key": "a", "hcl": true}}}'


def test_what_almost_every_request_says_is_decoded() -> None:
    assert plain(WITHOUT_FAULT.encode()) is not None


@pytest.mark.parametrize(
    "twice",
    [
        ('"key": "a"', '"key": "b", "key": "a"'),
        ('"hcl": true', '"hcl": true, "hcl": true'),
        ('"id": "var-1"', '"id": "var-1", "id": "var-1"'),
        ('"type": "vars"', '"type": "vars", "type": "vars"'),
        ('"attributes": {', '"attributes": {}, "attributes": {'),
        ('{"data": {', '{"data": {"type": "vars", "attributes": {}}, "data": {'),
        ('"key": "a"', '"k\\u0065y": "b", "key": "a"'),
    ],
    ids=["a text", "a flag", "an id", "a type", "attributes", "data", "an escaped name"],
)
def test_a_body_with_a_member_twice_is_parsed(twice: tuple[str, str]) -> None:
    assert plain(WITHOUT_FAULT.replace(*twice).encode()) is None


@pytest.mark.parametrize("name", STRINGS)
def test_no_string_of_a_variable_holds_a_nul(name: str) -> None:
    attributes = {"key": "a", "category": "env", "description": "", name: "a\0"}
    document = {"data": {"type": "vars", "id": "var-1", "attributes": attributes}}
    changed = update_draft(document, PLACE, "var-1", STANDARD)
    del document["data"]["id"]
    created, _ = create_draft(document, PLACE, STANDARD)
    for way, draft in {"a create": created, "an update": changed}.items():
        pointers = {fault.pointer for fault in draft.faults}
        assert pointers == {f"/data/attributes/{name}"}, f"{way} lets a NUL into {name}"


@pytest.mark.parametrize("linkage", LinkageType)
def test_no_id_of_a_member_holds_a_nul(linkage: LinkageType) -> None:
    items = [{"type": linkage.value, "id": "a"}, {"type": linkage.value, "id": "a\0"}]
    (fault,) = teams.members_draft({"data": items}, linkage).faults
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
        by_hand = teams.members_draft({"data": items, **READ_BY_HAND}, linkage)
        assert teams.members_draft({"data": items}, linkage) == by_hand
