"""What becomes of a request to create, change or delete a grant on a workspace or on a project, and
what a change records.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from teamvars.decisions import Decision, Delete, Found, Insert, Need, Note, Update, others, together
from teamvars.decisions.needs import (
    GrantWithId,
    ProjectGrantWithId,
    ToTeam,
    ToWorkspaceAt,
    WhoCalls,
)
from teamvars.decisions.projects import kept, named, to_project
from teamvars.domain.access import Level, TeamAccess
from teamvars.domain.errors import (
    GRANT_TAKEN,
    NO_ACCESS_GIVEN,
    NO_SUCH_PROJECT,
    NO_SUCH_TEAM,
    NO_SUCH_WORKSPACE,
    OWNERS_HAVE_ACCESS,
    PROJECT_GRANT_TAKEN,
    Fault,
    Kind,
    Refusal,
    forbidden,
    not_found,
    passing_over,
    refuse_all,
)
from teamvars.domain.project_grants import ProjectAccessType, ProjectGrant, ProjectGrantDraft
from teamvars.domain.projects import Project
from teamvars.domain.team_access import AccessDraft, AccessType, Grant, GrantDraft
from teamvars.domain.teams import Team

G = TypeVar("G", Grant, ProjectGrant)


def read(found: Found, id_: str) -> Grant:
    """One grant on a workspace."""
    grant, _ = _seen(found, GrantWithId(id_))
    return grant


def read_on_project(found: Found, id_: str) -> ProjectGrant:
    """One grant on a project, of whoever sees the team and the project."""
    grant, _ = _seen(found, ProjectGrantWithId(id_))
    return grant


def create(found: Found, draft: GrantDraft, id_: str) -> Decision[Grant]:
    """Gives a team access to a workspace of its organization.

    Refuses: forbidden, every fault of the draft, the owners team, a team that has access.
    """
    team, workspace_id = _meant(found, draft, draft.workspace_id)
    is_there = _has_workspace(found, team.organization_id, workspace_id)
    place = team.organization_id, team.id, workspace_id
    nothing = Grant(id_, *place, AccessType.CUSTOM, Level.NONE)
    _require_new(draft, nothing, team, () if is_there else (NO_SUCH_WORKSPACE,))
    found.require_locked([team.id, workspace_id])
    made = draft.applied_to(nothing)
    return together(made, created(found, made))


def create_on_project(found: Found, draft: ProjectGrantDraft, id_: str) -> Decision[ProjectGrant]:
    """Gives a team access to a project of its organization. Refuses as `create`."""
    team, project_id = _meant(found, draft, draft.project_id)
    project = named(found, team.organization_id, project_id)
    place = team.organization_id, team.id, project_id
    nothing = ProjectGrant(id_, *place, ProjectAccessType.CUSTOM, Level.NONE)
    _require_new(draft, nothing, team, (NO_SUCH_PROJECT,) if project is None else ())
    assert project is not None  # else there is a fault
    found.require_locked([team.id, project.organization_id])
    made = draft.applied_to(nothing)
    return together(made, created_on_project(found, made, project))


def _meant(found: Found, draft: AccessDraft, place_id: str | None) -> tuple[Team, str]:
    """The team that is to have access, to an owner, and the id of what it is to have access to.

    Refuses: every fault of a draft that does not name both; not found, with the place in the
    document; forbidden.
    """
    found.of(WhoCalls())
    if draft.team_id is None or place_id is None:
        refuse_all(draft.all_faults())
        raise not_found()
    try:
        granted = found.of(ToTeam(draft.team_id))
        granted.require_visible()
    except Refusal as refusal:
        raise Refusal(NO_SUCH_TEAM) if refusal.kind is Kind.NOT_FOUND else refusal from None
    _require_owner(granted)
    return granted.team, place_id


def _require_new(
    draft: AccessDraft, nothing: Grant | ProjectGrant, team: Team, missing: Sequence[Fault]
) -> None:
    owners = [OWNERS_HAVE_ACCESS] if team.is_owners else []
    refuse_all([*draft.all_faults(), *draft.contradictions(nothing), *missing, *owners])


def update(found: Found, id_: str, draft: GrantDraft) -> Decision[Grant]:
    """Changes a grant; changes nothing when the draft says nothing new.

    Refuses: forbidden, every fault of the draft, another id than the path's.
    """
    return _updated(found, GrantWithId(id_), draft)


def update_on_project(found: Found, id_: str, draft: ProjectGrantDraft) -> Decision[ProjectGrant]:
    """The same of a grant on a project."""
    return _updated(found, ProjectGrantWithId(id_), draft)


def _updated(found: Found, need: Need[G], draft: AccessDraft) -> Decision[G]:
    before: G = _owned(found, need)
    refuse_all(
        [
            *draft.all_faults(),
            *draft.contradictions(before),
            *draft.conflicts(before.id),
            *draft.unlike(before),
        ]
    )
    after = draft.applied_to(before)
    return together(after, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, id_: str) -> Decision[None]:
    """Takes a team's access to a workspace away. Refuses: forbidden."""
    return _removed(found, GrantWithId(id_))


def delete_on_project(found: Found, id_: str) -> Decision[None]:
    """Takes a team's access to a project away. Refuses: forbidden."""
    return _removed(found, ProjectGrantWithId(id_))


def _removed(found: Found, need: Need[G]) -> Decision[None]:
    grant = _owned(found, need)
    return deleted(found, grant.team_id, [grant])


def created(found: Found, grant: Grant) -> Decision[None]:
    """A team gets access to a workspace."""
    note = _put(found, grant, _details(grant))
    return Decision(None, (Insert(grant),), (note,), taken=GRANT_TAKEN)


def created_on_project(found: Found, grant: ProjectGrant, project: Project) -> Decision[None]:
    """A team gets access to a project."""
    note = _put(found, grant, _details(grant))
    return Decision(None, (kept(project), Insert(grant)), (note,), taken=PROJECT_GRANT_TAKEN)


def changed(found: Found, before: G, after: G) -> Decision[None]:
    """A grant becomes another."""
    terms = after.terms
    is_custom = after.access not in terms.implied  # else the access says it
    differing = terms.permissions.differing(before.permissions, after.permissions)
    details = others(_details(before), _details(after), differing if is_custom else ())
    return Decision(None, (Update(before, after),), (_put(found, after, details),))


def deleted(found: Found, team_id: str, removed: Sequence[G]) -> Decision[None]:
    """A team loses its access to workspaces, or to projects."""
    terms = removed[0].terms
    details = {f"{terms.place}s": sorted(grant.place_id for grant in removed)}
    note = found.note(team_id, f"{terms.action}.remove", team_id, details)
    gone = Delete(type(removed[0]), tuple(grant.id for grant in removed))
    return Decision(None, (gone,), (note,))


def _require_owner(granted: TeamAccess) -> None:
    """Refuses whoever is no owner of the team's organization."""
    if not granted.is_owner:
        raise forbidden(NO_ACCESS_GIVEN)


def _seen(found: Found, need: Need[G]) -> tuple[G, TeamAccess]:
    """A grant that the caller sees, and what they may do with its team."""
    found.of(WhoCalls())
    grant = found.of(need)
    granted = found.of(ToTeam(grant.team_id))
    granted.require_visible()
    if isinstance(grant, ProjectGrant):
        to_project(found, grant.project_id)
    else:
        found.of(ToWorkspaceAt(grant.workspace_id)).require_visible()
    return grant, granted


def _owned(found: Found, need: Need[G]) -> G:
    grant, granted = _seen(found, need)
    _require_owner(granted)
    return grant


def _has_workspace(found: Found, organization_id: str, workspace_id: str) -> bool:
    """Whether the organization has that workspace."""
    with passing_over(Kind.NOT_FOUND):
        return found.of(ToWorkspaceAt(workspace_id)).workspace.organization_id == organization_id
    return False


def _put(found: Found, grant: G, details: Mapping[str, object]) -> Note:
    return found.note(grant.team_id, f"{grant.terms.action}.put", grant.team_id, details)


def _details(grant: Grant | ProjectGrant) -> dict[str, object]:
    return {
        grant.terms.place: grant.place_id,
        "access": grant.access.value,
        "variables": grant.level.word,
    }
