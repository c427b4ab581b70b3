"""Changes to users, organizations and their memberships."""

from collections.abc import Sequence

from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import OWNERS, Status, Visibility
from teamvars.security.sealing import Sealer
from teamvars.services.changes import teams as team_changes
from teamvars.services.changes.ledger import Ledger
from teamvars.storage import organizations, users
from teamvars.storage.organizations import MembershipRow
from teamvars.storage.teams import TeamRow
from teamvars.storage.users import UserRow


async def create_user(ledger: Ledger, user: UserRow) -> None:
    """Adds a user. Raises Taken when the name or e-mail address is another's."""
    await users.insert(ledger.tx, user, ledger.now)
    await ledger.record(SYSTEM_STREAM, "user.create", ("users", user.id), _user_details(user))


async def update_user(ledger: Ledger, user: UserRow) -> None:
    """Changes a user. Raises Taken when the e-mail address is another's."""
    await users.update(ledger.tx, user)
    await ledger.record(SYSTEM_STREAM, "user.update", ("users", user.id), _user_details(user))


async def create(
    ledger: Ledger, sealer: Sealer, name: str, email: str | None = None
) -> tuple[Organization, TeamRow]:
    """Adds an organization with its data key and its owners team; returns both.

    Refuses: name_taken.
    """
    organization = Organization(new_id("org"), name, email, ledger.now)
    details = await ledger.open(organization.id)
    key = sealer.new_data_key(organization.id, 1)
    await organizations.insert(ledger.tx, organization, key)
    subject = ("organizations", organization.id)
    await ledger.record(SYSTEM_STREAM, "organization.create", subject, {"name": name, **details})
    owners = TeamRow(
        id=new_id("team"),
        organization_id=organization.id,
        name=OWNERS,
        visibility=Visibility.ORGANIZATION,
        manage_membership=False,
        is_owners=True,
    )
    await team_changes.create(ledger, owners)
    return organization, owners


async def delete(ledger: Ledger, organization: Organization, children: Sequence[str]) -> None:
    """Removes an organization with its workspaces, teams, memberships, tokens and data keys.

    `children` are the streams of all its teams and workspaces, locked like its own and the
    system's. They end in its stream, where they were opened, and that ends in the system's.
    """
    subject = ("organizations", organization.id)
    details: dict[str, object] = {"name": organization.name}
    await ledger.record(
        organization.id, "organization.empty", subject, {**details, **ledger.ends(children)}
    )
    await organizations.delete(ledger.tx, organization.id)
    await ledger.forget(children)
    details |= await ledger.close(organization.id)
    await ledger.record(SYSTEM_STREAM, "organization.delete", subject, details)


async def add_membership(
    ledger: Ledger, organization_id: str, user: UserRow, status: Status
) -> MembershipRow:
    """Adds a user to an organization, invited or active."""
    membership = MembershipRow(new_id("ou"), user.id, user.username, status)
    await organizations.insert_membership(ledger.tx, organization_id, membership, ledger.now)
    await _record(ledger, organization_id, "create", membership)
    return membership


async def set_status(ledger: Ledger, organization_id: str, membership: MembershipRow) -> None:
    """Makes an invited membership active, or the reverse."""
    await organizations.set_status(ledger.tx, membership.id, membership.status)
    await _record(ledger, organization_id, "update", membership)


async def remove_membership(
    ledger: Ledger, organization_id: str, membership: MembershipRow
) -> None:
    """Removes a user from an organization, and so from all its teams."""
    await organizations.delete_membership(ledger.tx, membership.id)
    await _record(ledger, organization_id, "delete", membership)


async def _record(
    ledger: Ledger, organization_id: str, verb: str, membership: MembershipRow
) -> None:
    subject = ("organization-memberships", membership.id)
    details = {"user": membership.user_id, "status": membership.status.value}
    await ledger.record(organization_id, f"membership.{verb}", subject, details)


def _user_details(user: UserRow) -> dict[str, object]:
    return {"username": user.username, "email": user.email, "site-admin": user.site_admin}
