"""What becomes of a request to create, change or delete a team, and what a change records."""

from collections.abc import Sequence

import msgspec

from teamvars.decisions import Decision, Found
from teamvars.decisions.needs import ToOrganization, ToTeam, UserIdsIn
from teamvars.decisions.rows import Delete, Insert, Update, closes, opens, others, together
from teamvars.domain.access import TeamAccess
from teamvars.domain.errors import NAME_TAKEN, Code, Fault, Refusal, forbidden, refuse_all
from teamvars.domain.teams import Team, TeamDraft, Visibility


class TeamView(msgspec.Struct, frozen=True):
    """A team, and what the one who looks may do with it.

    `user_ids` are its users, in order; None where a list would have too many. `member_ids` are its
    memberships, in order; None unless they were asked for.
    """

    team: Team
    organization_name: str
    members_count: int
    may_manage: bool
    may_change_members: bool
    may_manage_token: bool
    user_ids: Sequence[str] | None = None
    member_ids: Sequence[str] | None = None


def create(found: Found, organization: str, draft: TeamDraft, id_: str) -> Decision[TeamView]:
    """Adds a team, a secret one unless the draft says otherwise.

    Refuses: forbidden, every fault of the draft, a taken name.
    """
    granted = found.of(ToOrganization(organization))
    granted.require_owner()
    refuse_all(draft.all_faults())
    made = Team(
        id=id_,
        organization_id=granted.organization.id,
        name=draft.name or "",
        visibility=Visibility(draft.visibility or Visibility.SECRET),
        manage_membership=bool(draft.manage_membership),
        is_owners=False,
        members_manage_token=bool(draft.members_manage_token),
    )
    view = TeamView(made, granted.organization.name, 0, True, True, True, ())
    return together(view, created(found, made))


def update(found: Found, team_id: str, draft: TeamDraft) -> Decision[TeamView]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: forbidden, every fault of the draft, another id than the path's, another name for the
    owners team, a taken name.
    """
    granted = _owned(found, team_id)
    before = granted.team
    refuse_all([*draft.all_faults(), *draft.conflicts(before)])
    after, users = draft.applied_to(before), found.of(UserIdsIn(team_id))
    view = TeamView(after, granted.organization_name, len(users), True, True, True, users)
    return together(view, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, team_id: str) -> Decision[None]:
    """Removes a team with its grants and tokens; its members stay in the organization.

    Refuses: forbidden, the owners team.
    """
    team = _owned(found, team_id).team
    if team.is_owners:
        raise Refusal(Fault(Code.OWNERS_IS_PERMANENT, "The owners team cannot be deleted."))
    return deleted(found, team)


def created(found: Found, team: Team) -> Decision[None]:
    """A team begins, with a stream."""
    place, details = team.organization_id, {**_settings(team), **opens(team.id)}
    note = found.note(place, "team.create", team.id, details)
    return Decision(None, (Insert(team),), (note,), {team.id: place}, taken=_TAKEN)


def changed(found: Found, before: Team, after: Team) -> Decision[None]:
    """A team becomes another; a new name concerns the organization too."""
    details = others(_settings(before), _settings(after))
    notes = [found.note(after.id, "team.update", after.id, details)]
    if before.name != after.name:
        renamed = {"name": after.name, "from": before.name}
        notes.append(found.note(after.organization_id, "team.rename", after.id, renamed))
    return Decision(None, (Update(before, after),), tuple(notes), taken=_TAKEN)


def deleted(found: Found, team: Team) -> Decision[None]:
    """A team ends with its members, grants, tokens and stream."""
    details = {"name": team.name, **closes(team.id)}
    note = found.note(team.organization_id, "team.delete", team.id, details)
    return Decision(None, (Delete(Team, (team.id,)),), (note,))


_TAKEN = NAME_TAKEN.filled(what="a team")


def _owned(found: Found, team_id: str) -> TeamAccess:
    granted = found.of(ToTeam(team_id))
    granted.require_visible()
    if not granted.is_owner:
        raise forbidden("Only owners and the organization's token may change teams.")
    return granted


def _settings(team: Team) -> dict[str, object]:
    return {
        "name": team.name,
        "visibility": team.visibility.value,
        "manage-membership": team.manage_membership,
        "allow-member-token-management": team.members_manage_token,
    }
