"""The rules of membership that need no store: contract §5."""

from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.memberships import NO_SUCH_MEMBER, MembersDraft, owners_lost

people = st.sets(st.sampled_from("abcdef"))


@given(owners=people, removed=people)
def test_owners_are_lost_only_when_none_would_remain(owners: set[str], removed: set[str]) -> None:
    lost = owners_lost(owners, removed)
    assert lost in (set(), owners)
    assert bool(lost) is bool(owners and not owners - removed)


@given(ids=st.lists(st.sampled_from(["a", "b", "c", None])))
def test_each_id_is_wanted_once_in_the_order_of_its_first_item(ids: list[str | None]) -> None:
    wanted = MembersDraft(ids).wanted
    assert len(wanted) == len(set(wanted))
    assert set(wanted) == set(ids) - {None}
    assert [*wanted] == sorted(wanted, key=ids.index)


def test_every_item_of_an_id_at_fault_is_pointed_at() -> None:
    draft = MembersDraft(["a", "b", None, "a"])
    missing = draft.all_faults({"b"}, NO_SUCH_MEMBER)
    assert [fault.pointer for fault in missing] == ["/data/0/id", "/data/3/id"]
    assert [fault.pointer for fault in draft.last_owners({"b"})] == ["/data/1/id"]
    assert draft.not_accepted(set()) == []
