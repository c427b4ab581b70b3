"""Changes to users, organizations and their memberships."""

from collections.abc import Mapping, Sequence

from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import OWNERS, Status, Visibility
from teamvars.domain.users import User
from teamvars.security.sealing import Sealer
from teamvars.services.changes import teams as team_changes
from teamvars.services.changes.ledger import Ledger, opens, others
from teamvars.storage import organizations, users
from teamvars.storage.organizations import MembershipRow
from teamvars.storage.teams import TeamRow

Inside = tuple[str, MembershipRow]
"""A membership, after the id of its organization."""

_NOTHING: Mapping[str, object] = {}


async def create_users(ledger: Ledger, made: Sequence[User]) -> None:
    """Adds users. Raises Taken when a name or e-mail address is another's."""
    await users.insert_all(ledger.tx, made, ledger.now)
    for user in made:
        await ledger.record(SYSTEM_STREAM, "user.create", ("users", user.id), _user_details(user))


async def update_users(ledger: Ledger, changed: Sequence[tuple[User, User]]) -> None:
    """Changes users, each from what it was, in order; a placeholder becomes somebody by that.

    Raises Taken when a name or e-mail address is another's by then.
    """
    await users.update_all(ledger.tx, [user for _, user in changed])
    for before, user in changed:
        verb = "claim" if before.placeholder and not user.placeholder else "update"
        former = {"from": before.username} if before.username != user.username else {}
        details = {**others(_user_details(before), _user_details(user)), **former}
        await ledger.record(SYSTEM_STREAM, f"user.{verb}", ("users", user.id), details)


async def set_disabled(
    ledger: Ledger, user: User, disabled: bool, without_owner: Sequence[str] = ()
) -> None:
    """Disables a user, or the reverse; `without_owner` names whom that leaves without an owner."""
    await users.set_disabled(ledger.tx, user.id, disabled=disabled)
    details: dict[str, object] = {"username": user.username}
    if without_owner:
        details["without-owner"] = list(without_owner)
    verb = "disable" if disabled else "enable"
    await ledger.record(SYSTEM_STREAM, f"user.{verb}", ("users", user.id), details)


async def create(
    ledger: Ledger, sealer: Sealer, name: str, email: str | None = None
) -> tuple[Organization, TeamRow]:
    """Adds an organization with its data key and its owners team; returns both.

    Refuses: name_taken.
    """
    organization = Organization(new_id("org"), name, email, ledger.now)
    await add(ledger, sealer, organization)
    owners = owners_of(organization)
    await team_changes.create(ledger, [owners])
    return organization, owners


async def add(ledger: Ledger, sealer: Sealer, organization: Organization) -> None:
    """Adds an organization with its data key, to which `owners_of` must be added.

    Refuses: name_taken.
    """
    await ledger.open([organization.id])
    key = sealer.new_data_key(organization.id, 1)
    await organizations.insert(ledger.tx, organization, key)
    subject = ("organizations", organization.id)
    details = {"name": organization.name, **opens(organization.id)}
    await ledger.record(SYSTEM_STREAM, "organization.create", subject, details)


def owners_of(organization: Organization) -> TeamRow:
    """The team that every organization has."""
    return TeamRow(
        id=new_id("team"),
        organization_id=organization.id,
        name=OWNERS,
        visibility=Visibility.ORGANIZATION,
        manage_membership=False,
        is_owners=True,
        members_manage_token=True,
    )


async def update(ledger: Ledger, before: Organization, after: Organization) -> None:
    """Changes an organization's name or e-mail address. Refuses: name_taken.

    Its own stream alone moves. Documents of workspaces and variables show the name as well, and
    whoever keeps one compares the name.
    """
    await organizations.update(ledger.tx, after)
    changed = [name for name in ("name", "email") if getattr(before, name) != getattr(after, name)]
    former = {"from": before.name} if "name" in changed else {}
    details = {"name": after.name, "email": after.email, "changed": changed, **former}
    subject = ("organizations", after.id)
    await ledger.record(after.id, "organization.update", subject, details)


async def delete(
    ledger: Ledger, organization: Organization, children: Sequence[str], variables: int
) -> None:
    """Removes an organization with its workspaces, teams, memberships, tokens and data keys.

    `children` are the streams of all its teams and workspaces, locked like its own and the
    system's. They end in its stream, where they were opened, and that ends in the system's. Both
    entries say how many `variables` went.
    """
    subject = ("organizations", organization.id)
    details: dict[str, object] = {"name": organization.name, "variables": variables}
    await ledger.record(
        organization.id, "organization.empty", subject, {**details, **ledger.ends(children)}
    )
    await organizations.delete(ledger.tx, organization.id)
    await ledger.forget(children)
    details |= await ledger.close(organization.id)
    await ledger.record(SYSTEM_STREAM, "organization.delete", subject, details)


async def add_membership(
    ledger: Ledger,
    organization_id: str,
    user: User,
    status: Status,
    invited_as: str | None = None,
) -> MembershipRow:
    """Adds a user to an organization, active, or invited by an address."""
    membership = MembershipRow(new_id("ou"), user.id, user.username, status, invited_as)
    await add_memberships(ledger, [(organization_id, membership)])
    return membership


async def add_memberships(ledger: Ledger, added: Sequence[Inside]) -> None:
    """Adds users to organizations, invited or active."""
    await organizations.insert_memberships(ledger.tx, added, ledger.now)
    await _record(ledger, "create", added)


async def set_statuses(ledger: Ledger, changed: Sequence[Inside]) -> None:
    """Makes invited memberships active, or the reverse."""
    await organizations.set_statuses(ledger.tx, [membership for _, membership in changed])
    await _record(ledger, "update", changed, {"changed": ["status"]})


async def remove_memberships(ledger: Ledger, removed: Sequence[Inside]) -> None:
    """Removes users from organizations, and so from all their teams."""
    ids = [membership.id for _, membership in removed]
    await organizations.delete_memberships(ledger.tx, ids)
    await _record(ledger, "delete", removed)


async def _record(
    ledger: Ledger, verb: str, concerned: Sequence[Inside], more: Mapping[str, object] = _NOTHING
) -> None:
    for organization_id, membership in concerned:
        subject = ("organization-memberships", membership.id)
        details = {"user": membership.user_id, "status": membership.status.value, **more}
        await ledger.record(organization_id, f"membership.{verb}", subject, details)


def _user_details(user: User) -> dict[str, object]:
    return {"username": user.username, "email": user.email, "site-admin": user.site_admin}
