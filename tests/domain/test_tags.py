"""Tags: what becomes of them where others are added, removed or put in their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.ids import derived_id
from teamvars.domain.tags import (
    SaidBinding,
    SaidName,
    TagChange,
    Tags,
    TagsDraft,
    effective_bindings,
    rows_of,
    surplus,
    tag_id_of,
)

words = st.text("ab:", min_size=1, max_size=3)
names = st.sets(words).map(lambda found: tuple(sorted(found)))
bindings = st.dictionaries(words, words).map(lambda found: dict(sorted(found.items())))
tags = st.builds(Tags, names, bindings)


def draft(names: tuple[str, ...] | None, bindings: dict[str, str] | None) -> TagsDraft:
    return TagsDraft(
        None if names is None else tuple(SaidName(name.upper(), "") for name in names),
        None
        if bindings is None
        else tuple(SaidBinding(key, value, "") for key, value in bindings.items()),
    )


@given(before=tags, said=st.none() | names, keys=st.none() | bindings)
def test_what_is_said_is_there_or_gone_and_of_what_is_not_spoken_of_nothing_changes(
    before: Tags, said: tuple[str, ...] | None, keys: dict[str, str] | None
) -> None:
    asked = draft(said, keys)
    for change in TagChange:
        after = asked.applied_to(before, change)
        assert asked.applied_to(after, change) == after
        assert after.names == tuple(sorted(after.names))
        assert list(after.bindings) == sorted(after.bindings)
        if said is None:
            assert after.names == before.names
        if keys is None:
            assert after.bindings == before.bindings
    added = asked.applied_to(before, TagChange.ADD)
    assert {*added.names} == {*before.names, *(said or ())}
    assert added.bindings == {**before.bindings, **(keys or {})}
    left = asked.applied_to(before, TagChange.REMOVE)
    assert {*left.names} == {*before.names} - {*(said or ())}
    assert left.bindings.keys() == before.bindings.keys() - (keys or {}).keys()
    put = asked.applied_to(before, TagChange.REPLACE)
    assert put == Tags(before.names if said is None else said, keys or put.bindings)


@given(one=tags)
def test_each_tag_has_a_row_of_its_own_and_a_name_one_id_in_all_workspaces(one: Tags) -> None:
    here, there = rows_of("ws-1", "org-1", one), rows_of("ws-2", "org-1", one)
    assert len(here) == one.count
    assert here.keys().isdisjoint(there)
    ids = [row.tag_id for row in here.values() if row.value is None]
    assert ids == [row.tag_id for row in there.values() if row.value is None]
    assert set(ids) == {tag_id_of("org-1", name) for name in one.names}
    assert {tag_id_of("org-2", name) for name in one.names}.isdisjoint(ids)


def test_an_id_that_follows_from_its_parts_is_that_of_no_others() -> None:
    assert derived_id("tag", "org-1", "live") == derived_id("tag", "org-1", "live")
    others = {derived_id("tag", *parts) for parts in (("a", "bc"), ("ab", "c"), ("abc",), ("a",))}
    assert len(others) == 4
    assert all(len(id_) == len("tag-") + 16 for id_ in others)


def test_whoever_has_too_many_already_may_still_have_less() -> None:
    many, more = (Tags(tuple(f"t{n:03}" for n in range(count))) for count in (60, 61))
    assert surplus(more, many) == surplus(many, many) == []
    (fault,) = surplus(many, more)
    assert fault.code.word == "too_many_items"


def test_an_id_that_is_known_stands_for_a_name_and_another_is_pointed_at() -> None:
    said = (SaidName("tag-1", "/0", is_id=True), SaidName("tag-2", "/1", is_id=True))
    asked = TagsDraft((*said, SaidName("live", "/2"))).named({"tag-1": "blue"})
    assert asked.names == (SaidName("blue", "/0"), said[1], SaidName("live", "/2"))
    assert [fault.pointer for fault in asked.faults] == ["/1"]
    assert TagsDraft().named({}).names is None


@pytest.mark.parametrize(
    ("asked", "at"),
    [
        (TagsDraft((SaidName("a b", "/0"), SaidName("a b", "/1", is_id=True))), ["/0"]),
        (TagsDraft(bindings=(SaidBinding("a", "1", "/0"), SaidBinding("a", "1", "/1"))), []),
        (
            TagsDraft(bindings=(SaidBinding("a", "1", "/0"), SaidBinding("a", "2", "/1"))),
            ["/1/key"],
        ),
        (TagsDraft(bindings=(SaidBinding("=", "\n", "/0"),)), ["/0/key", "/0/value"]),
    ],
)
def test_names_and_bindings_that_break_a_rule_are_pointed_at(
    asked: TagsDraft, at: list[str]
) -> None:
    assert [fault.pointer for fault in asked.all_faults()] == at


def test_a_binding_of_the_project_counts_unless_the_workspace_has_one_of_its_key() -> None:
    found = effective_bindings("ws-1", {"b": "own"}, "prj-1", {"a": "1", "b": "2"})
    expected = [("a", "1", "prj-1"), ("b", "own", None)]
    assert [(one.key, one.value, one.project_id) for one in found] == expected
