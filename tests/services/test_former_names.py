"""A directory file does not make anew what was renamed: organizations, workspaces and teams."""

from collections.abc import Coroutine
from typing import Any

import pytest

from teamvars.domain.directory import Directory, OrganizationEntry, TeamEntry
from teamvars.domain.errors import Refusal
from teamvars.domain.names import Origin
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.team_access import AccessType
from teamvars.domain.teams import TeamDraft
from teamvars.domain.tokens import OwnerName
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.directory_files.files import Options
from tests.services.calls import AS_WRITTEN, Calls, caller, dump
from tests.support.deployment import operator

DRY = Options(dry_run=True)


async def rename_all(calls: Calls) -> None:
    """As over HTTP: the organization, the workspace `network` and the team `crew` get `-new`."""
    tenant, services = calls.tenant, calls.services
    await services.workspaces.update(
        caller(tenant, "owner"), tenant.workspaces["network"], WorkspaceDraft(name="network-new")
    )
    await services.teams.update(
        caller(tenant, "owner"), tenant.teams["crew"], TeamDraft(name="crew-new")
    )
    await services.organizations.update(
        caller(tenant, "owner"), tenant.organization, OrganizationDraft(name=new(calls))
    )


def new(calls: Calls) -> str:
    return f"{tenant_name(calls)}-new"


def tenant_name(calls: Calls) -> str:
    return calls.tenant.organization


async def apply(calls: Calls, options: Options = AS_WRITTEN, **entry: Any) -> tuple[str, ...]:
    file = Directory(organizations=(OrganizationEntry(**entry),))
    applied = await calls.services.directory.apply(operator(), file, options)
    return applied.changes


async def refused(calls: Calls, **entry: Any) -> list[str]:
    """What is wrong with the file, dry run or not; nothing is changed."""
    before = await dump(calls.services.database)
    told = []
    for options in (DRY, AS_WRITTEN, Options(prune=True, delete_variables=True)):
        with pytest.raises(Refusal) as refusal:
            await apply(calls, options, **entry)
        told.append([fault.detail for fault in refusal.value.faults])
    assert await dump(calls.services.database) == before
    assert told[0] == told[1] == told[2][: len(told[0])]
    return told[0]


async def test_an_unchanged_file_is_refused_with_what_everything_is_called_now(
    calls: Calls,
) -> None:
    old = tenant_name(calls)
    await rename_all(calls)
    (told,) = await refused(calls, name=old.upper(), at="f:1")
    assert told == (
        f"f:1: Organization {old.upper()} is called {new(calls)} now: write that name. To rename "
        f"it, add 'former-name: {new(calls)}'; to make another one, add 'new: true'."
    )
    space, team, grant = await refused(
        calls,
        name=new(calls),
        workspaces=("Network", "payments"),
        teams=(TeamEntry("crew"), TeamEntry("readers", workspaces={"old": AccessType.READ})),
        at="f:1",
        workspace_at={"Network": "f:2"},
    )
    assert space.startswith(f"f:2: Workspace {new(calls)}/Network is called network-new now: write")
    assert f"Team {new(calls)}/crew is called crew-new now: write that name." in team
    assert grant.endswith(f"there is no workspace {new(calls)}/old.")
    (grant,) = await refused(
        calls,
        name=new(calls),
        teams=(TeamEntry("readers", workspaces={"network": AccessType.READ}),),
    )
    assert grant.endswith(
        f"there is no workspace {new(calls)}/network. It is called network-new now."
    )


async def test_a_former_name_renames_on_purpose_and_a_second_time_nothing(calls: Calls) -> None:
    old = tenant_name(calls)
    await rename_all(calls)
    entry: dict[str, Any] = {
        "name": old,
        "origin": Origin(new(calls)),
        "workspaces": ("network", "payments"),
        "origins": {"network": Origin("network-new")},
        "teams": (TeamEntry("crew", origin=Origin("crew-new"), manage_membership=True),),
    }
    expected = (
        f"rename organization {new(calls)} to {old}",
        f"rename team {old}/crew-new to crew",
        f"rename workspace {old}/network-new to network",
        f"update team {old}/crew",
    )
    assert await apply(calls, DRY, **entry) == expected
    assert await apply(calls, **entry) == expected
    unchanged = await dump(calls.services.database)
    for options in (AS_WRITTEN, DRY):
        assert await apply(calls, options, **entry) == ()
    assert await dump(calls.services.database) == unchanged
    seen = await calls.services.workspaces.read(
        caller(calls.tenant, "owner"), calls.tenant.workspaces["network"]
    )
    assert (seen.workspace.name, seen.workspace.organization_name) == ("network", old)
    assert await calls.node.audit_holds()
    again = await refused(calls, name=new(calls))
    assert f"is called {old} now" in again[0]


async def test_what_is_new_takes_a_former_name_and_a_second_time_nothing(calls: Calls) -> None:
    old = tenant_name(calls)
    await rename_all(calls)
    entry: dict[str, Any] = {
        "name": new(calls),
        "workspaces": ("network-new", "network"),
        "origins": {"network": Origin(new=True)},
        "teams": (TeamEntry("crew-new"), TeamEntry("crew", origin=Origin(new=True))),
    }
    made = (f"create workspace {new(calls)}/network", f"create team {new(calls)}/crew")
    assert await apply(calls, **entry) == made
    assert await apply(calls, **entry) == ()
    assert (await apply(calls, name=old, origin=Origin(new=True)))[0] == (
        f"create organization {old}"
    )
    assert await apply(calls, name=old) == ()  # a live name always wins
    assert await apply(calls, **entry, origin=Origin(old)) == ()  # it has that one's name already


async def test_names_are_given_on_in_whatever_order_the_file_has(calls: Calls) -> None:
    name = tenant_name(calls)
    changes = await apply(
        calls,
        name=name,
        workspaces=("payments", "archive", "network"),
        origins={
            "payments": Origin("network"),
            "archive": Origin("payments"),
            "network": Origin(new=True),
        },
    )
    assert changes == (
        f"rename workspace {name}/payments to archive",
        f"rename workspace {name}/network to payments",
        f"create workspace {name}/network",
    )
    (told,) = await refused(
        calls, name=name, workspaces=("payments",), origins={"payments": Origin("archive")}
    )
    assert "exists, and so does archive, which cannot take its name" in told


async def test_what_is_gone_has_no_former_name(calls: Calls) -> None:
    await rename_all(calls)
    await calls.services.workspaces.delete(
        caller(calls.tenant, "owner"), calls.tenant.workspaces["network"], only_unlocked=False
    )
    assert await apply(calls, name=new(calls), workspaces=("network",)) == (
        f"create workspace {new(calls)}/network",
    )


async def test_owners_is_renamed_by_no_file(calls: Calls) -> None:
    name = tenant_name(calls)
    entry = TeamEntry("bosses", origin=Origin("owners"))
    assert await apply(calls, DRY, name=name, teams=(entry,)) == (f"create team {name}/bosses",)


async def test_operators_are_told_what_they_name_by_a_former_name_is_called_now(
    calls: Calls,
) -> None:
    services, organization = calls.services, tenant_name(calls)
    await rename_all(calls)
    now = f" It was renamed to {new(calls)}."
    team, workspace = f"{new(calls)}/crew", f"{new(calls)}/network"
    asked: dict[str, list[Coroutine[Any, Any, object]]] = {
        f"There is no organization {organization}.{now}": [
            services.tokens.create(operator(), OwnerName(organization=organization), None),
            services.issued_tokens.revoke_of_organization(operator(), organization),
            services.operator_invitations.pending(organization),
            services.accounts.holders(organization, "network-new"),
            services.directory.export([new(calls), organization]),
        ],
        f"There is no team {team}. It was renamed to crew-new.": [
            services.tokens.create(
                operator(), OwnerName(organization=new(calls), team="crew"), None
            ),
        ],
        f"There is no workspace {workspace}. It was renamed to network-new.": [
            services.accounts.holders(new(calls), "network")
        ],
        "There is no organization never-named.": [
            services.operator_invitations.pending("never-named")
        ],
    }
    for told, commands in asked.items():
        for command in commands:
            with pytest.raises(Refusal) as refusal:
                await command
            assert refusal.value.faults[0].detail == told
