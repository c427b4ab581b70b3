"""Everything that `ACTIONS` declares is written, and nothing else is."""

from collections import defaultdict

from teamvars.domain.applies import ApplyDraft, CopyDraft, OnConflict
from teamvars.domain.audit_actions import ACTIONS
from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.preconditions import ANY_VERSION
from teamvars.domain.teams import TeamDraft
from teamvars.domain.variables import Category, VariableDraft
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.accounts import Disabling
from tests.services.calls import AS_WRITTEN, Calls, caller
from tests.services.test_audit import all_kinds_of_changes
from tests.support.deployment import operator


async def use_users(calls: Calls) -> None:
    """Invited and claimed, renamed, disabled and enabled."""
    services, tenant = calls.services, calls.tenant
    email = f"claimed-{tenant.organization}@example.com"
    invitation = caller(tenant, "owner"), tenant.organization, InvitationDraft(email)
    await services.invitations.invite(*invitation)
    entry = UserEntry(f"claimed-{tenant.organization}", email)
    await services.directory.apply(operator(), Directory((entry,)), AS_WRITTEN)
    (plain, owner) = calls.named("plain", "owner")
    await services.accounts.rename(operator(), plain, f"new-{plain}")
    await services.accounts.disable(operator(), owner, Disabling(force=True))
    await services.accounts.enable(operator(), owner)


async def use_contents(calls: Calls) -> None:
    """A team, a workspace and a variable renamed, a grant changed, a workspace locked."""
    services, tenant = calls.services, calls.tenant
    owner = caller(tenant, "owner")
    for access in (AccessType.READ, AccessType.WRITE):
        await calls.apply(
            TeamEntry("crew", workspaces={"network": access}), workspaces=("network",)
        )
    await services.teams.update(owner, tenant.teams["crew"], TeamDraft(name="band"))
    place = owner, tenant.workspaces["network"]
    await services.workspaces.lock(*place)
    await services.workspaces.unlock(*place, force=False)
    await services.workspaces.update(*place, WorkspaceDraft(name="net"))
    for value in ("1", "2"):
        wanted = VariableDraft(key="copied", category=Category.ENV, value=value)
        await services.applies.apply(
            owner, tenant.workspaces["payments"], ApplyDraft([wanted]), ANY_VERSION
        )
        copy = CopyDraft(tenant.workspaces["payments"], on_conflict=OnConflict.REPLACE)
        await services.copies.copy(*place, copy)
    made = await calls.create(key="former")
    renamed = VariableDraft(key="later")
    await services.variables.update(*place, made.id, renamed, ANY_VERSION)


async def use_organizations(calls: Calls) -> None:
    """Made, renamed and deleted."""
    admin = caller(calls.tenant, "admin")
    name = f"made-{calls.tenant.organization}"
    await calls.services.organizations.create(admin, OrganizationDraft(name=name))
    renamed = OrganizationDraft(name=f"new-{name}")
    await calls.services.organizations.update(admin, name, renamed)
    await calls.services.organizations.delete(admin, f"new-{name}", force=True)


async def test_every_action_is_written_with_all_its_details(own_calls: Calls) -> None:
    await all_kinds_of_changes(own_calls)
    await use_users(own_calls)
    await use_contents(own_calls)
    await use_organizations(own_calls)
    found: dict[str, set[str]] = defaultdict(set)
    for entry in await own_calls.services.audit.newest(10_000):
        details = entry.read_details()
        assert details is not None
        assert ACTIONS[entry.action].admits(details)
        assert ACTIONS[entry.action].subject_type == entry.subject_type
        found[entry.action] |= details.keys()
    declared = {name: action.always | action.sometimes for name, action in ACTIONS.items()}
    assert found == declared


def test_details_that_are_not_declared_or_not_complete_are_told() -> None:
    action = ACTIONS["grant.put"]
    assert action.admits(("workspace", "access", "variables"))
    assert action.admits(("workspace", "access", "variables", "changed"))
    assert not action.admits(("workspace", "access"))
    assert not action.admits(("workspace", "access", "variables", "value"))
