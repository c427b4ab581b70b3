"""What a workspace may hold: contract §4."""

from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.errors import Code
from teamvars.domain.workspaces import Quota, Usage

numbers = st.integers(0, 5)
usages = st.builds(Usage, numbers, numbers)


@given(before=usages, after=usages)
def test_no_limit_is_in_nobodys_way(before: Usage, after: Usage) -> None:
    assert Quota(None, None).faults(before, after) == []


@given(most=numbers, before=usages, after=usages)
def test_a_workspace_may_be_filled_up_to_its_limits_and_may_always_shrink(
    most: int, before: Usage, after: Usage
) -> None:
    faults = Quota(most, most).faults(before, after)
    grown = [
        will_be > max(was, most)
        for was, will_be in (
            (before.variables, after.variables),
            (before.value_bytes, after.value_bytes),
        )
    ]
    assert len(faults) == sum(grown)
    assert {fault.code for fault in faults} <= {Code.WORKSPACE_FULL}
