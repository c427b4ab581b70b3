"""Members of teams: how decisions about them are fed and carried out."""

import json
from collections.abc import Callable, Mapping, Sequence

from teamvars.changes.looks import Look, LookUps, Tools
from teamvars.decisions import Found, Write
from teamvars.decisions.needs import ToTeam
from teamvars.decisions.team_members import ActiveOwners, LinkedBy, Put, UserIds
from teamvars.storage import access, memberships
from teamvars.storage.access_statements import READ_TEAM
from teamvars.storage.database import Lookup, Statement, Transaction


def _linked(found: Found, need: LinkedBy) -> tuple[Lookup, tuple[object, ...]]:
    team = found.of(need.team).team
    args = team.id, team.organization_id, json.dumps(need.ids)
    return memberships.FIND_LINKED[need.linkage], args


async def _user_ids(tx: Transaction, _: Tools, found: Found, need: UserIds) -> Mapping[str, str]:
    organization_id = found.of(need.team).team.organization_id
    return await memberships.find_user_ids(tx, organization_id, need.usernames)


async def _active_owners(tx: Transaction, _: Tools, __: Found, need: ActiveOwners) -> Sequence[str]:
    members = (await memberships.of_teams(tx, [need.team.team_id]))[need.team.team_id]
    return [member.id for member in members if member.counts_as_owner]


LOOK_UPS: LookUps = {
    ToTeam: Look(
        lambda found, need: (READ_TEAM, (found.caller.token_hash, found.now, need.team_id)),
        lambda found, _, rows: access.to_team(found.caller, rows[0] if rows else None),
        locks=True,
    ),
    LinkedBy: Look(_linked, lambda _, __, rows: memberships.linked(rows)),
    UserIds: _user_ids,
    ActiveOwners: _active_owners,
}
STATEMENTS: Mapping[type[Write], Callable[..., Statement]] = {
    Put: lambda _, __, write: memberships.putting(
        write.team_id, write.membership_ids, adds=write.direction == "add"
    ),
}
