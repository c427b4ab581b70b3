"""What a workspace may hold: contract §4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain.errors import Code
from teamvars.domain.workspaces import Quota, Usage, WorkspaceDraft

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


@pytest.mark.parametrize(
    ("version", "is_one"),
    [
        *dict.fromkeys(
            (
                "latest",
                "1.5.0",
                "v1.5",
                "1.6.0-rc1",
                "1.5.7-ent+b.2",
                "~> 1.5",
                ">=1.2, != 1.3.0 ,< 2",
            ),
            True,
        ).items(),
        *dict.fromkeys(
            ("", "nonexisting", "1.x", "1.5.", "~>", "~ 1.5", ">= 1.2,", "latest, 1.5", "1.5\n"),
            False,
        ).items(),
        ("1." * 31 + "10", True),
        ("1." * 32 + "1", False),
    ],
)
def test_a_terraform_version_is_one_or_says_which_will_do(version: str, is_one: bool) -> None:
    faults = WorkspaceDraft(terraform_version=version).all_faults()
    assert [fault.pointer for fault in faults] == (
        [] if is_one else ["/data/attributes/terraform-version"]
    )
