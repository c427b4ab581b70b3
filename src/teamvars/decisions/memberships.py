"""What becomes of a request to end a membership, or what somebody leaves behind; and what changes
of memberships record.
"""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Delete,
    Found,
    Insert,
    Note,
    Update,
    runners,
    together,
    tokens,
)
from teamvars.decisions.needs import (
    LeftBehindBy,
    MembershipOf,
    MembershipWithId,
    MembersOf,
    TeamIdsOf,
    TeamsOf,
    TeamsWithIds,
    ToOrganizationWithId,
    WhoCalls,
    as_owner,
    meant,
)
from teamvars.decisions.teams import put
from teamvars.domain.access import OrganizationAccess
from teamvars.domain.errors import ALREADY_ACCEPTED, LAST_OWNER, Refusal, not_found
from teamvars.domain.invitations import Invitation
from teamvars.domain.memberships import LeftBehind, Membership, Status, owners_lost
from teamvars.domain.teams import Team


class MembershipPage(msgspec.Struct, frozen=True):
    """Some memberships by id, how many there are in all, and the teams they name by id."""

    memberships: Sequence[Membership]
    total: int
    teams: Mapping[str, Team]


def read(found: Found, membership_id: str) -> MembershipPage:
    """One membership."""
    membership, granted = seen(found, membership_id)
    if not (granted.is_owner or granted.is_member):
        return MembershipPage([membership], 1, {})  # invited, and no more than that
    teams = teams_of(found, membership)
    if granted.sees_secret is not None:
        shown = granted.sees_secret
        teams = [team for team in teams if not team.is_secret or team.id in shown]
    return page_of(membership, teams)


def page_of(membership: Membership, teams: Sequence[Team]) -> MembershipPage:
    """The membership with those of its teams, which are by name."""
    whole = replace(membership, team_ids=sorted(team.id for team in teams))
    return MembershipPage([whole], 1, {team.id: team for team in teams})


def teams_of(found: Found, membership: Membership) -> Sequence[Team]:
    """The teams of a membership by name, secret ones included."""
    (team_ids,) = found.of(TeamIdsOf((membership.id,))).values()
    return found.of(TeamsWithIds(team_ids))


def remove(found: Found, membership_id: str) -> Decision[None]:
    """Removes a user from an organization, and so from all its teams; the user stays.

    Refuses: forbidden, the removal of the last active owner.
    """
    membership, granted = seen(found, membership_id)
    granted.require_owner()
    owners = next(team for team in _locked_teams(found, membership) if team.is_owners)
    active = [member.id for member in found.of(MembersOf(owners.id)) if member.counts_as_owner]
    if owners_lost(active, [membership.id]):
        raise Refusal(LAST_OWNER)
    return ended(found, [membership])


def revoke(found: Found, membership_id: str) -> Decision[Membership]:
    """Takes an invitation back: its link opens nothing any more, and its teams lose a member.

    Refuses: forbidden, one that was accepted.
    """
    membership, granted = seen(found, membership_id)
    granted.require_owner()
    return _revoked(found, membership)


def revoke_by_operator(found: Found, membership_id: str) -> Decision[Membership]:
    """Takes an invitation back; returns it. Refuses one that was accepted."""
    return _revoked(found, meant(found, MembershipWithId(membership_id), "membership"))


def _revoked(found: Found, membership: Membership) -> Decision[Membership]:
    if membership.status is not Status.INVITED:
        raise Refusal(ALREADY_ACCEPTED)
    return together(membership, ended(found, [membership]))


def seen(found: Found, membership_id: str) -> tuple[Membership, OrganizationAccess]:
    """A membership the caller sees, and what they may do in its organization."""
    found.of(WhoCalls())
    membership = found.of(MembershipWithId(membership_id))
    granted = found.of(ToOrganizationWithId(membership.organization_id))
    is_own = found.caller.user_id == membership.user.id
    if not (is_own and found.caller.reaches(membership.organization_id)):
        granted.require_visible()
    return membership, granted


def created(found: Found, made: Membership) -> Decision[None]:
    """A user comes into an organization, invited or active."""
    return Decision(None, (Insert(made),), (_noted(found, "create", made),))


def changed(found: Found, pairs: Sequence[tuple[Membership, Membership]]) -> Decision[None]:
    """Invited memberships become active, or the reverse, each from what it was.

    What there was of an invitation ends, and its link opens nothing.
    """
    return Decision(
        None,
        (
            *(Update(before, after) for before, after in pairs),
            *(Delete(Invitation, (after.id,)) for _, after in pairs),
        ),
        tuple(_noted(found, "update", after, {"changed": ["status"]}) for _, after in pairs),
    )


def deleted(found: Found, membership: Membership) -> Decision[None]:
    """A user goes from an organization, and so from all its teams."""
    gone = Delete(Membership, (membership.id,))
    return Decision(None, (gone,), (_noted(found, "delete", membership),))


def ended(found: Found, gone: Sequence[Membership], verb: str = "revoke") -> Decision[None]:
    """Users go from an organization and from its teams, all of which are locked: the memberships
    might come into any meanwhile. Where that ends an invitation, `verb` says how.
    """
    if not gone:
        return Decision(None)
    of_organization = _locked_teams(found, gone[0])
    leaving: dict[str, list[str]] = {}
    for id_, team_ids in found.of(TeamIdsOf(tuple(one.id for one in gone))).items():
        for team_id in team_ids:
            leaving.setdefault(team_id, []).append(id_)
    return together(
        None,
        *(left(found, team, leaving[team.id]) for team in of_organization if team.id in leaving),
        *(invitation(found, one, verb) for one in gone if one.invitation is not None),
        *(deleted(found, one) for one in gone),
    )


def invitation(
    found: Found, membership: Membership, verb: str, more: Mapping[str, object] = {}
) -> Decision[None]:
    """Something happens to the invitation of a membership."""
    details = {"user": membership.user.id, **more}
    place, action = membership.organization_id, f"invitation.{verb}"
    return Decision(None, notes=(found.note(place, action, membership.id, details),))


def joined(found: Found, team: Team, membership_ids: Sequence[str]) -> Decision[None]:
    """The memberships with these ids come into a team, in which none of them is."""
    return put(found, team, "add", membership_ids)


def left(found: Found, team: Team, membership_ids: Sequence[str]) -> Decision[None]:
    """The memberships with these ids go from a team."""
    return put(found, team, "remove", membership_ids)


def _locked_teams(found: Found, membership: Membership) -> Sequence[Team]:
    of_organization = found.of(TeamsOf(membership.organization_id))
    found.require_locked([membership.organization_id, *(team.id for team in of_organization)])
    return of_organization


def _noted(
    found: Found, verb: str, membership: Membership, more: Mapping[str, object] = {}
) -> Note:
    details = {"user": membership.user.id, "status": membership.status.value, **more}
    return found.note(membership.organization_id, f"membership.{verb}", membership.id, details)


def left_behind(found: Found, organization: str, user_id: str) -> LeftBehind:
    """What somebody leaves behind, who may be gone. Refuses: forbidden, and as not found whoever is
    not in the organization and has left nothing there.
    """
    left = found.of(LeftBehindBy(as_owner(found, organization).id, user_id))
    if left.is_nothing and found.of(MembershipOf(left.organization_id, user_id)) is None:
        raise not_found()
    return left


def end_left_behind(found: Found, organization: str, user_id: str) -> Decision[LeftBehind]:
    """Ends all of it but the teams, which need somebody else; returns what it was. Refuses as
    `left_behind`.
    """
    return _ended(found, left_behind(found, organization, user_id))


def end_by_operator(found: Found, organization_id: str, user_id: str) -> Decision[LeftBehind]:
    """The same by an operator."""
    return _ended(found, found.of(LeftBehindBy(organization_id, user_id)))


def _ended(found: Found, left: LeftBehind) -> Decision[LeftBehind]:
    """Tokens are revoked, runners deleted and invitations taken back; nothing of it comes to be
    meanwhile.
    """
    of_teams = [team.id for team in found.of(TeamsOf(left.organization_id))]
    of_runners = [runner.id for runner in left.runners]
    found.require_locked([left.organization_id, *of_teams, *of_runners])
    return together(
        left,
        *(tokens.revoked(found, one) for one in left.tokens),
        *(runners.deleted(found, one, left.organization) for one in left.runners),
        ended(found, left.invitations),
    )
