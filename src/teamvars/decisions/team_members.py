"""What becomes of a request to add or remove members of a team."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from teamvars.decisions import Decision, Found, Need, Note, Write
from teamvars.decisions.needs import ToTeam
from teamvars.domain.errors import Fault, refuse_all
from teamvars.domain.memberships import LinkageType, Linked, MembersDraft, Status, owners_lost

Direction = Literal["add", "remove"]


class LinkedBy(Need[Sequence[Linked]], frozen=True):
    """The memberships of a team's organization that these ids name."""

    team: ToTeam
    linkage: LinkageType
    ids: tuple[str, ...]


class UserIds(Need[Mapping[str, str]], frozen=True):
    """The ids of members of a team's organization by usernames; others are left out."""

    team: ToTeam
    usernames: frozenset[str]


class ActiveOwners(Need[Sequence[str]], frozen=True):
    """The memberships in a team that count as owners."""

    team: ToTeam


class Put(Write, frozen=True):
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


def change(found: Found, asked: MembersChange) -> Decision[None]:
    """Adds or removes all that are named, or none. Refuses: see `services.team_members`."""
    granted = found.of(asked.team)
    granted.require_manage_membership()
    draft, linked = _named(found, asked)
    missing = draft.missing(one.id for one in linked)
    refuse_all([*draft.faults, *missing, *_rules_broken(found, asked, draft, linked)])
    removes = asked.direction == "remove"
    concerned = sorted(one.membership_id for one in linked if one.in_team is removes)
    if not concerned:
        return Decision(None)
    details = {"organization-memberships": concerned}
    event = found.event(f"member.{asked.direction}", granted.team.id, details)
    return Decision(
        None,
        writes=(Put(granted.team.id, asked.direction, tuple(concerned)),),
        notes=(Note(granted.stream.id, event),),
    )


def _named(found: Found, asked: MembersChange) -> tuple[MembersDraft, Sequence[Linked]]:
    """The memberships a draft names, and the draft with ids where it had usernames.

    What is somebody's id is never taken for a username.
    """
    draft = asked.draft
    linked = found.of(LinkedBy(asked.team, asked.linkage, tuple(draft.wanted())))
    strangers = frozenset(draft.wanted()) - {one.id for one in linked}
    if not (strangers and asked.usernames and asked.linkage is LinkageType.USERS):
        return draft, linked
    draft = draft.renamed(found.of(UserIds(asked.team, strangers)))
    return draft, found.of(LinkedBy(asked.team, asked.linkage, tuple(draft.wanted())))


def _rules_broken(
    found: Found, asked: MembersChange, draft: MembersDraft, linked: Sequence[Linked]
) -> list[Fault]:
    if asked.direction == "add":
        invited = [one.id for one in linked if one.status is Status.INVITED]
        return draft.not_accepted(invited) if asked.linkage is LinkageType.USERS else []
    if not found.of(asked.team).team.is_owners:
        return []
    active = found.of(ActiveOwners(asked.team))
    lost = owners_lost(active, (one.membership_id for one in linked))
    return draft.last_owners(one.id for one in linked if one.membership_id in lost)
