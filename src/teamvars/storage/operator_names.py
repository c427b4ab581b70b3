"""What an operator names, and what it is called now where that is a former name.

All refuse as not found, with the name: operators may know what there is.
"""

from teamvars.domain.errors import there_is_no
from teamvars.domain.names import fold
from teamvars.domain.organizations import Organization
from teamvars.domain.teams import Team
from teamvars.domain.workspaces import Workspace
from teamvars.storage import former_names, organizations, teams, workspaces
from teamvars.storage.database import Transaction


async def organization(tx: Transaction, name: str) -> Organization:
    """An organization by its name."""
    found = (await organizations.find_all(tx, [name])).get(fold(name))
    if found is None:
        former = await former_names.every(tx)
        raise there_is_no(f"organization {name}", former.present(name))
    return found


async def team(tx: Transaction, within: Organization, name: str) -> Team:
    """A team of an organization by its name."""
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
