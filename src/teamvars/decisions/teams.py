"""What becomes of a request to create, change or delete a team, or to add or remove its members,
and what a change records.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Need,
    Update,
    Write,
    closes,
    opens,
    others,
    owners,
    together,
)
from teamvars.decisions.needs import (
    LinkedTo,
    MembershipsWithIds,
    MembersOf,
    ToOrganization,
    ToTeam,
)
from teamvars.domain.access import TeamAccess
from teamvars.domain.errors import (
    NAME_TAKEN,
    NOT_SEEN_AFTERWARDS,
    Code,
    Fault,
    Refusal,
    forbidden,
    refuse_all,
)
from teamvars.domain.memberships import (
    NO_SUCH_MEMBER,
    LinkageType,
    Linked,
    MembersDraft,
    Status,
    owners_lost,
)
from teamvars.domain.teams import SETTINGS, Right, Team, TeamDraft, Visibility

Direction = Literal["add", "remove"]


class TeamView(msgspec.Struct, frozen=True):
    """A team, and what the one who looks may do with it.

    `user_ids` are its users, in order; None where a list would have too many. `member_ids` are its
    memberships, in order; None unless they were asked for.
    """

    team: Team
    organization_name: str
    members_count: int
    is_owner: bool
    may_manage: bool
    may_change_members: bool
    may_manage_token: bool
    user_ids: Sequence[str] | None = None
    member_ids: Sequence[str] | None = None


def view_of(
    granted: TeamAccess, members_count: int, user_ids: Sequence[str] | None = None
) -> TeamView:
    """A team as somebody sees it who may do that with it."""
    return TeamView(
        team=granted.team,
        organization_name=granted.organization_name,
        members_count=members_count,
        is_owner=granted.is_owner,
        may_manage=granted.may_manage,
        may_change_members=granted.may_change,
        may_manage_token=granted.manages_token,
        user_ids=user_ids,
    )


def create(found: Found, organization: str, draft: TeamDraft, id_: str) -> Decision[TeamView]:
    """Adds a team, a secret one unless the draft says otherwise.

    Refuses: forbidden, rights in the organization to whoever is no owner, every fault of the draft,
    a secret team that its maker would not see, a taken name.
    """
    granted = found.of(ToOrganization(organization))
    granted.require(Right.MANAGE_TEAMS)
    new = Team(id_, granted.organization.id, "", Visibility.SECRET, frozenset(), is_owners=False)
    _require_rights(draft, new, is_owner=granted.is_owner)
    refuse_all(draft.all_faults())
    made = draft.applied_to(new)
    if made.is_secret and granted.sees_secret is not None:
        raise Refusal(NOT_SEEN_AFTERWARDS)
    name, is_owner = granted.organization.name, granted.is_owner
    view = TeamView(made, name, 0, is_owner, True, True, True, ())
    return together(view, created(found, made))


def update(found: Found, team_id: str, draft: TeamDraft) -> Decision[TeamView]:
    """Changes what the draft names; changes nothing when that is nothing.

    Refuses: forbidden, other rights in the organization to whoever is no owner, every fault of the
    draft, another id than the path's, another name for the owners team, that the caller would see
    it no more, a taken name.
    """
    granted = _managed(found, team_id)
    before = granted.team
    _require_rights(draft, before, is_owner=granted.is_owner)
    linked = found.of(LinkedTo(team_id))
    users, members = linked[LinkageType.USERS], linked[LinkageType.ORGANIZATION_MEMBERSHIPS]
    whole = replace(view_of(granted, len(users), users), member_ids=members)
    refuse_all([*draft.all_faults(), *draft.conflicts(before), *draft.unlike(whole)])
    after = draft.applied_to(before)
    granted = replace(granted, team=after)
    if not granted.sees:
        raise Refusal(NOT_SEEN_AFTERWARDS)
    view = view_of(granted, len(users), users)
    return together(view, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, team_id: str) -> Decision[None]:
    """Removes a team with its grants and tokens; its members stay in the organization.

    Refuses: forbidden, the owners team.
    """
    team = _managed(found, team_id).team
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
    differing = SETTINGS.differing(before.settings, after.settings)
    details = others(_settings(before), _settings(after), differing)
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


def _managed(found: Found, team_id: str) -> TeamAccess:
    granted = found.of(ToTeam(team_id))
    granted.require_manage()
    return granted


def _require_rights(draft: TeamDraft, team: Team, *, is_owner: bool) -> None:
    """Refuses whoever gives rights in the organization, or takes them, and is no owner."""
    if not is_owner and draft.gives_rights(team):
        raise forbidden("Only owners and the organization's token set the organization-access.")


def _settings(team: Team) -> dict[str, object]:
    return {
        "name": team.name,
        "visibility": team.visibility.value,
        **{right.value: right in team.rights for right in Right},
        "allow-member-token-management": team.members_manage_token,
    }


class LinkedBy(Need[Sequence[Linked]], frozen=True):
    """The memberships of a team's organization that these ids name."""

    team: ToTeam
    linkage: LinkageType
    ids: tuple[str, ...]


class UserIds(Need[Mapping[str, str]], frozen=True):
    """The ids of members of a team's organization by usernames; others are left out."""

    team: ToTeam
    usernames: frozenset[str]


class PutMembers(Write, frozen=True):
    """Memberships come into a team, none of which is in it, or leave it."""

    team_id: str
    direction: Direction
    membership_ids: tuple[str, ...]


class MembersChange(msgspec.Struct, frozen=True):
    """Whom a request puts in or takes out of which team; whether a username stands for an id."""

    team: ToTeam
    linkage: LinkageType
    direction: Direction
    draft: MembersDraft
    usernames: bool


def change_members(found: Found, asked: MembersChange) -> Decision[None]:
    """Adds or removes all that are named, or none. Refuses: see `services.teams`."""
    granted = found.of(asked.team)
    granted.require_manage_membership()
    draft, linked = _named(found, asked)
    faults = draft.all_faults({one.id for one in linked}, NO_SUCH_MEMBER)
    refuse_all([*faults, *_rules_broken(found, asked, draft, linked)])
    removes = asked.direction == "remove"
    concerned = sorted(one.membership_id for one in linked if one.in_team is removes)
    if not concerned:
        return Decision(None)
    change = put(found, granted.team, asked.direction, concerned)
    if removes or not granted.team.is_owners:
        return change
    joining = found.of(MembershipsWithIds(tuple(concerned)))
    return together(None, owners.joined(found, joining), change)


def put(
    found: Found, team: Team, direction: Direction, membership_ids: Sequence[str]
) -> Decision[None]:
    """The memberships with these ids come into a team, in which none of them is, or go from it."""
    details = {"organization-memberships": list(membership_ids)}
    note = found.note(team.id, f"member.{direction}", team.id, details)
    return Decision(None, (PutMembers(team.id, direction, tuple(membership_ids)),), (note,))


def _named(found: Found, asked: MembersChange) -> tuple[MembersDraft, Sequence[Linked]]:
    """The memberships a draft names, and the draft with ids where it had usernames.

    What is somebody's id is never taken for a username.
    """
    draft = asked.draft
    linked = found.of(LinkedBy(asked.team, asked.linkage, draft.wanted))
    strangers = frozenset(draft.wanted) - {one.id for one in linked}
    if not (strangers and asked.usernames and asked.linkage is LinkageType.USERS):
        return draft, linked
    draft = draft.renamed(found.of(UserIds(asked.team, strangers)))
    return draft, found.of(LinkedBy(asked.team, asked.linkage, draft.wanted))


def _rules_broken(
    found: Found, asked: MembersChange, draft: MembersDraft, linked: Sequence[Linked]
) -> list[Fault]:
    if asked.direction == "add":
        invited = [one.id for one in linked if one.status is Status.INVITED]
        return draft.not_accepted(invited) if asked.linkage is LinkageType.USERS else []
    if not found.of(asked.team).team.is_owners:
        return []
    active = [one.id for one in found.of(MembersOf(asked.team.team_id)) if one.counts_as_owner]
    lost = owners_lost(active, (one.membership_id for one in linked))
    return draft.last_owners(one.id for one in linked if one.membership_id in lost)
