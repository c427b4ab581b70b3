"""Changes to organizations."""

from collections.abc import Sequence

from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.ids import new_id
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import OWNERS, Team, Visibility
from teamvars.security.sealing import Sealer
from teamvars.services.directory import teams as team_changes
from teamvars.services.directory.ledger import Ledger, opens
from teamvars.storage import organizations


async def create(
    ledger: Ledger, sealer: Sealer, name: str, email: str | None = None
) -> tuple[Organization, Team]:
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
    await ledger.open({organization.id: organization.id})
    key = sealer.new_data_key(organization.id, 1)
    await organizations.insert(ledger.tx, organization, key)
    details = {"name": organization.name, **opens(organization.id)}
    await ledger.record(SYSTEM_STREAM, "organization.create", organization.id, details)


def owners_of(organization: Organization) -> Team:
    """The team that every organization has."""
    return Team(
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
    await ledger.record(after.id, "organization.update", after.id, details)


async def delete(
    ledger: Ledger, organization: Organization, children: Sequence[str], variables: int
) -> None:
    """Removes an organization with its workspaces, teams, memberships, tokens and data keys.

    `children` are the streams of all its teams and workspaces, locked like its own and the
    system's. They end in its stream, where they were opened, and that ends in the system's. Both
    entries say how many `variables` went.
    """
    details: dict[str, object] = {"name": organization.name, "variables": variables}
    await ledger.record(
        organization.id, "organization.empty", organization.id, {**details, **ledger.ends(children)}
    )
    await organizations.delete(ledger.tx, organization.id)
    await ledger.forget(children)
    details |= await ledger.close(organization.id)
    await ledger.record(SYSTEM_STREAM, "organization.delete", organization.id, details)
