"""Everything that `ACTIONS` declares is written, and nothing else is."""

from collections import defaultdict

from teamvars.domain.audit_actions import ACTIONS
from teamvars.domain.directory import Directory, TeamEntry, UserEntry
from teamvars.domain.grants import AccessType
from teamvars.domain.memberships import InvitationDraft
from teamvars.domain.organizations import OrganizationDraft
from teamvars.domain.teams import TeamDraft
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.services.accounts import Disabling
from tests.house import operator
from tests.services.people import AS_WRITTEN, Desk, caller
from tests.services.test_audit import all_kinds_of_changes


async def use_users(desk: Desk) -> None:
    """Invited and claimed, renamed, disabled and enabled."""
    services, world = desk.services, desk.world
    email = f"claimed-{world.organization}@example.com"
    invitation = caller(world, "owner"), world.organization, InvitationDraft(email)
    await services.memberships.invite(*invitation)
    entry = UserEntry(f"claimed-{world.organization}", email)
    await services.directory.apply(operator(), Directory((entry,)), AS_WRITTEN)
    (plain, owner) = desk.named("plain", "owner")
    await services.accounts.rename(operator(), plain, f"new-{plain}")
    await services.accounts.disable(operator(), owner, Disabling(force=True))
    await services.accounts.enable(operator(), owner)


async def use_contents(desk: Desk) -> None:
    """A team and a workspace renamed, a grant changed, a workspace locked and unlocked."""
    services, world = desk.services, desk.world
    owner = caller(world, "owner")
    for access in (AccessType.READ, AccessType.WRITE):
        await desk.apply(TeamEntry("crew", workspaces={"network": access}), workspaces=("network",))
    await services.teams.update(owner, world.teams["crew"], TeamDraft(name="band"))
    place = owner, world.workspaces["network"]
    await services.workspaces.lock(*place)
    await services.workspaces.unlock(*place, force=False)
    await services.workspaces.update(*place, WorkspaceDraft(name="net"))


async def use_organizations(desk: Desk) -> None:
    """Made, renamed and deleted."""
    admin = caller(desk.world, "admin")
    name = f"made-{desk.world.organization}"
    await desk.services.organizations.create(admin, OrganizationDraft(name=name))
    renamed = OrganizationDraft(name=f"new-{name}")
    await desk.services.organizations.update(admin, name, renamed)
    await desk.services.organizations.delete(admin, f"new-{name}", force=True)


async def test_every_action_is_written_with_all_its_details(own_desk: Desk) -> None:
    await all_kinds_of_changes(own_desk)
    await use_users(own_desk)
    await use_contents(own_desk)
    await use_organizations(own_desk)
    found: dict[str, set[str]] = defaultdict(set)
    for entry in await own_desk.services.audit.newest(10_000):
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
