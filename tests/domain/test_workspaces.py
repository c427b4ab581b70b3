"""What a workspace may hold (contract §4), and what it has of its project and organization."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teamvars.domain import projects
from teamvars.domain.errors import Code
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.projects import Project, default_project
from teamvars.domain.workspaces import (
    ExecutionMode,
    Quota,
    Usage,
    Workspace,
    WorkspaceDraft,
    WorkspaceRecord,
    WorkspaceSettings,
    default_mode,
)

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
    assert all("64 characters at most" in fault.detail for fault in faults)


LOCAL = {DEFAULT_MODE: "local"}
OWN = {projects.OWN_MODE: True}


@pytest.mark.parametrize(
    ("of_organization", "of_project", "mode"),
    [
        ({}, {}, "remote"),
        (LOCAL, {}, "local"),
        (LOCAL, OWN, "remote"),
        ({}, {**OWN, **LOCAL}, "local"),
        (LOCAL, LOCAL, "local"),
    ],
)
def test_the_default_mode_is_the_projects_where_it_has_one_of_its_own(
    of_organization: Any, of_project: Any, mode: str
) -> None:
    assert default_mode(of_organization, of_project) is ExecutionMode(mode)


def test_a_workspace_names_the_project_that_it_is_in_unless_that_is_the_default_one() -> None:
    record = WorkspaceRecord(Workspace("ws-1", "network", "org-1", "acme"))
    default = default_project("org-1", 1)
    inside = record.put_into(Project("prj-2", "org-1", "shop", 2))
    assert (inside.project_id, inside.in_project) == ("prj-2", "prj-2")
    back = inside.put_into(default)
    assert (back.project_id, back.in_project) == (None, default.id)


@pytest.mark.parametrize(("id_", "faults"), [(None, 0), ("ws-1", 0), ("ws-2", 1)])
def test_a_document_is_about_the_workspace_of_the_path(id_: str | None, faults: int) -> None:
    workspace = Workspace("ws-1", "network", "org-1", "acme")
    assert len(WorkspaceDraft(id=id_).conflicts(workspace)) == faults


def test_a_version_of_which_nothing_is_said_stays() -> None:
    before = WorkspaceSettings(terraform_version="1.5.0")
    assert WorkspaceDraft(name="new").applied_to(before).terraform_version == "1.5.0"
    after = WorkspaceDraft(terraform_version="1.6.0").applied_to(before)
    assert after.terraform_version == "1.6.0"
