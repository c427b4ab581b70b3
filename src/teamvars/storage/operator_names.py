"""What an operator names, and what it is called now where that is a former name.

All refuse as not found, with the name: operators may know what there is.
"""

from collections.abc import Sequence

from teamvars.domain.errors import Refusal, there_is_no
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import Workspace
from teamvars.storage import former_names, organizations, teams, workspaces
from teamvars.storage.database import Transaction


async def organizations_named(tx: Transaction, names: Sequence[str]) -> dict[str, Organization]:
    """Organizations by their folded names. Refuses all that are not there at once."""
    found = await organizations.find_all(tx, names)
    missing = [name for name in names if fold(name) not in found]
    if missing:
        former = await former_names.every(tx)
        told = [there_is_no(f"organization {name}", former.present(name)) for name in missing]
        raise Refusal(*(fault for refusal in told for fault in refusal.faults))
    return found


async def organization(tx: Transaction, name: str) -> Organization:
    """An organization by its name."""
    return (await organizations_named(tx, [name]))[fold(name)]


async def team(tx: Transaction, organization_name: str, name: str) -> Team:
    """A team by its own name and its organization's."""
    within = await organization(tx, organization_name)
    found = await teams.find_named(tx, within.id, name)
    if found is None:
        former = await former_names.inside(tx, former_names.TEAMS, [within.id])
        raise there_is_no(f"team {within.name}/{name}", former[within.id].present(name))
    return found


async def workspace(tx: Transaction, organization_name: str, name: str) -> Workspace:
    """A workspace by its own name and its organization's."""
    within = await organization(tx, organization_name)
    found = await workspaces.find_named(tx, within.name, name)
    if found is None:
        former = await former_names.inside(tx, former_names.WORKSPACES, [within.id])
        raise there_is_no(f"workspace {within.name}/{name}", former[within.id].present(name))
    return found
