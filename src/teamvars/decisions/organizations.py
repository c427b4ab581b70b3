"""What becomes of a request to create, change or delete an organization, and what it records."""

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Update,
    Write,
    closes,
    memberships,
    opens,
    others,
    teams,
    together,
)
from teamvars.decisions.generations import Generations
from teamvars.decisions.needs import TeamsOf, ToOrganization, WorkspacesOf, as_owner
from teamvars.decisions.projects import KeepDefault
from teamvars.decisions.runners import RunnersOf
from teamvars.decisions.tokens import shortened
from teamvars.decisions.users import site_admin
from teamvars.decisions.variable_sets import SetsOf
from teamvars.domain.audit import SYSTEM_STREAM
from teamvars.domain.errors import NAME_TAKEN, STILL_USED, Refusal, forbidden, refuse_all
from teamvars.domain.keys import active_of
from teamvars.domain.memberships import Membership, Status
from teamvars.domain.organizations import SETTINGS, Founded, Organization, OrganizationDraft
from teamvars.domain.teams import ALL_RIGHTS, Rights, owners_of
from teamvars.domain.tokens import limits_tokens


class OrganizationView(msgspec.Struct, frozen=True):
    """An organization, whether the one who looks may do everything in it, and their rights."""

    organization: Organization
    is_owner: bool
    rights: Rights


class GiveKey(Write, frozen=True):
    """A new organization has a data key, of that generation."""

    organization_id: str
    generation: int


class Fresh(msgspec.Struct, frozen=True):
    """What a new organization is made with: its id, and those of its owners team and of the
    membership of whoever makes it.
    """

    id: str
    owners_id: str
    membership_id: str


def create(found: Found, draft: OrganizationDraft, fresh: Fresh) -> Decision[OrganizationView]:
    """Adds an organization; a site admin, who makes it, is an active member and owner at once.

    Refuses: forbidden to everyone else, every fault of the draft, a taken name.
    """
    creator = site_admin(found, "Only site admins create organizations.")
    _require_signed_in(found, False, draft)
    refuse_all(draft.all_faults())
    made = draft.applied_to(Organization(fresh.id, "", None, found.now))
    owners = owners_of(made.id, fresh.owners_id)
    place = fresh.membership_id, made.id, made.name
    member = Membership(*place, creator, Status.ACTIVE, found.now)
    return together(
        OrganizationView(made, True, ALL_RIGHTS),
        created(found, made),
        teams.created(found, owners),
        memberships.created(found, member),
        memberships.joined(found, owners, [member.id]),
    )


def update(found: Found, name: str, draft: OrganizationDraft) -> Decision[OrganizationView]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: not found, forbidden to whoever is no owner, or says who has to sign in and has not,
    every fault of the draft, another id than the path's, a taken name.
    """
    granted = found.of(ToOrganization(name))
    granted.require_owner()
    before = granted.organization
    _require_signed_in(found, before.sso_required, draft)
    view = OrganizationView(before, True, granted.rights)
    refuse_all([*draft.all_faults(), *draft.conflicts(before), *draft.unlike(view)])
    after = draft.applied_to(before)
    view = replace(view, organization=after)
    return together(view, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, name: str, *, force: bool) -> Decision[None]:
    """Removes an organization with its workspaces, variable sets, teams, runners, memberships,
    tokens and data keys.

    Users stay. Refuses: not found, forbidden to whoever is no owner, and unless forced one that
    still has variables.

    The streams of teams, workspaces, sets and runners end in that of the organization, where they
    were opened, and that ends in the system's. Both entries say how many variables went.
    """
    organization = as_owner(found, name)
    of_workspaces = found.of(WorkspacesOf(organization.id))
    sets = found.of(SetsOf(organization.id))
    counts = [variables for _, variables in of_workspaces if variables]
    of_sets = [variables for _, variables in sets if variables]
    held = sum(counts) + sum(of_sets)
    if held and not force:
        raise Refusal(
            STILL_USED.filled(
                {"variables": held, "workspaces": len(counts), "varsets": len(of_sets)}
            )
        )
    children = [team.id for team in found.of(TeamsOf(organization.id))]
    children += [workspace.id for workspace, _ in of_workspaces]
    children += [id_ for id_, _ in sets]
    children += [runner.id for runner in found.of(RunnersOf(organization.id))]
    id_, details = organization.id, {"name": organization.name, "variables": held}
    notes = (
        found.note(id_, "organization.empty", id_, {**details, **closes(*children)}),
        found.note(SYSTEM_STREAM, "organization.delete", id_, {**details, **closes(id_)}),
    )
    return Decision(None, (Delete(Organization, (id_,)),), notes)


def created(found: Found, organization: Organization) -> Decision[None]:
    """An organization begins with its data key, its default project and a stream; it has no owners
    team yet.
    """
    id_, generation = organization.id, active_of(found.of(Generations())).version
    details = {"name": organization.name, **opens(id_)}
    note = found.note(SYSTEM_STREAM, "organization.create", id_, details)
    rows = Insert(Founded(organization, generation)), GiveKey(id_, generation)
    return Decision(None, (*rows, KeepDefault(id_)), (note,), {id_: id_}, taken=_TAKEN)


def changed(found: Found, before: Organization, after: Organization) -> Decision[None]:
    """An organization has another name, e-mail address or setting.

    Its own stream alone moves. Documents of workspaces and variables show the name as well, and
    whoever keeps one compares the name.
    """
    said = {} if after.sso_required == before.sso_required else {"sso-required": after.sso_required}
    differing = [*SETTINGS.differing(before.settings, after.settings), *said]
    details = others(_settings(before), _settings(after), differing) | said
    if before.name != after.name:
        details["from"] = before.name
    note = found.note(after.id, "organization.update", after.id, details)
    begins = limits_tokens(after) and not limits_tokens(before)
    shorter = shortened(found, after) if begins else []
    return Decision(None, (Update(before, after), *shorter), (note,), taken=_TAKEN)


_TAKEN = NAME_TAKEN.filled(what="an organization")


def _require_signed_in(found: Found, before: bool, draft: OrganizationDraft) -> None:
    """Refuses as forbidden who says that members have to sign in and has not, so that nobody shuts
    themselves out; and who says that they need not and is no person. A person who may say that has
    signed in, or has what the host made as the way back.
    """
    if draft.sso_required in (None, before):
        return
    if found.caller.user_id is None or (draft.sso_required and found.caller.reach is None):
        raise forbidden("Only an owner who has signed in with a provider changes 'sso-required'.")


def _settings(organization: Organization) -> dict[str, object]:
    return {"name": organization.name, "email": organization.email}
