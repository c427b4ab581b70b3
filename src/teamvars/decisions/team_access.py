"""What becomes of a request to create, change or delete a grant, and what a change records."""

from collections.abc import Mapping, Sequence

from teamvars.decisions import Decision, Found, Note
from teamvars.decisions.needs import GrantWithId, ToTeam, ToWorkspaceAt, WhoCalls
from teamvars.decisions.rows import Delete, Insert, Update, others, together
from teamvars.domain.access import Level, TeamAccess
from teamvars.domain.errors import (
    GRANT_TAKEN,
    NO_ACCESS_GIVEN,
    NO_SUCH_TEAM,
    NO_SUCH_WORKSPACE,
    OWNERS_HAVE_ACCESS,
    Fault,
    Kind,
    Refusal,
    forbidden,
    not_found,
    refuse_all,
)
from teamvars.domain.team_access import (
    PERMISSIONS,
    AccessType,
    Grant,
    GrantDraft,
)


def read(found: Found, id_: str) -> Grant:
    """One grant."""
    grant, _ = _seen(found, id_)
    return grant


def create(found: Found, draft: GrantDraft, id_: str) -> Decision[Grant]:
    """Gives a team access to a workspace of its organization.

    Refuses: forbidden, every fault of the draft, the owners team, a team that has access.
    """
    found.of(WhoCalls())
    team_id, workspace_id = draft.team_id, draft.workspace_id
    if team_id is None or workspace_id is None:
        refuse_all(draft.all_faults())
        raise not_found()
    team = _named(found, team_id, workspace_id).team
    found.require_locked([team_id, workspace_id])
    owners = [OWNERS_HAVE_ACCESS] if team.is_owners else []
    place = team.organization_id, team_id, workspace_id
    nothing = Grant(id_, *place, AccessType.CUSTOM, Level.NONE)
    refuse_all([*draft.all_faults(), *draft.contradictions(nothing), *owners])
    made = draft.applied_to(nothing)
    return together(made, created(found, made))


def update(found: Found, id_: str, draft: GrantDraft) -> Decision[Grant]:
    """Changes a grant; changes nothing when the draft says nothing new.

    Refuses: forbidden, every fault of the draft, another id than the path's.
    """
    before = _owned(found, id_)
    refuse_all([*draft.all_faults(), *draft.contradictions(before), *draft.conflicts(id_)])
    after = draft.applied_to(before)
    return together(after, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, id_: str) -> Decision[None]:
    """Takes a team's access to a workspace away. Refuses: forbidden."""
    grant = _owned(found, id_)
    return deleted(found, grant.team_id, [grant])


def created(found: Found, grant: Grant) -> Decision[None]:
    """A team gets access to a workspace."""
    note = _put(found, grant, _details(grant))
    return Decision(None, (Insert(grant),), (note,), taken=GRANT_TAKEN)


def changed(found: Found, before: Grant, after: Grant) -> Decision[None]:
    """A grant becomes another."""
    is_custom = after.access is AccessType.CUSTOM  # else the access says it
    differing = PERMISSIONS.differing(before.permissions, after.permissions)
    details = others(_details(before), _details(after), differing if is_custom else ())
    return Decision(None, (Update(before, after),), (_put(found, after, details),))


def deleted(found: Found, team_id: str, removed: Sequence[Grant]) -> Decision[None]:
    """A team loses its access to workspaces."""
    details = {"workspaces": sorted(grant.workspace_id for grant in removed)}
    note = found.note(team_id, "grant.remove", team_id, details)
    return Decision(None, (Delete(Grant, tuple(grant.id for grant in removed)),), (note,))


def to_named_team(found: Found, team_id: str) -> TeamAccess:
    """What an owner may do with the team that is to have access. Refuses: not found, with the place
    in the document, forbidden.
    """
    try:
        granted = found.of(ToTeam(team_id))
        granted.require_visible()
    except Refusal as refusal:
        raise _pointing(refusal, NO_SUCH_TEAM) from None
    require_owner(granted)
    return granted


def require_owner(granted: TeamAccess) -> None:
    """Refuses whoever is no owner of the team's organization."""
    if not granted.is_owner:
        raise forbidden(NO_ACCESS_GIVEN)


def _seen(found: Found, id_: str) -> tuple[Grant, TeamAccess]:
    """A grant that the caller sees, and what they may do with its team."""
    found.of(WhoCalls())
    grant = found.of(GrantWithId(id_))
    granted = found.of(ToTeam(grant.team_id))
    granted.require_visible()
    found.of(ToWorkspaceAt(grant.workspace_id)).require_visible()
    return grant, granted


def _owned(found: Found, id_: str) -> Grant:
    grant, granted = _seen(found, id_)
    require_owner(granted)
    return grant


def _named(found: Found, team_id: str, workspace_id: str) -> TeamAccess:
    """What the caller may do with the team; the workspace is of the same organization."""
    granted = to_named_team(found, team_id)
    try:
        workspace = found.of(ToWorkspaceAt(workspace_id)).workspace
    except Refusal as refusal:
        raise _pointing(refusal, NO_SUCH_WORKSPACE) from None
    if workspace.organization_id != granted.team.organization_id:
        raise Refusal(NO_SUCH_WORKSPACE)
    return granted


def _pointing(refusal: Refusal, fault: Fault) -> Refusal:
    """The refusal, with the place in the document when the thing was not found."""
    return Refusal(fault) if refusal.kind is Kind.NOT_FOUND else refusal


def _put(found: Found, grant: Grant, details: Mapping[str, object]) -> Note:
    return found.note(grant.team_id, "grant.put", grant.team_id, details)


def _details(grant: Grant) -> dict[str, object]:
    return {
        "workspace": grant.workspace_id,
        "access": grant.access.value,
        "variables": grant.level.word,
    }
