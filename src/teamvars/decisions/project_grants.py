"""What becomes of a request to create, change or delete a grant on a project."""

from collections.abc import Mapping, Sequence

from teamvars.decisions import Decision, Found, Note
from teamvars.decisions.needs import ProjectGrantWithId, ToTeam, WhoCalls
from teamvars.decisions.projects import kept, named, to_project
from teamvars.decisions.rows import Delete, Insert, Update, others, together
from teamvars.decisions.team_access import require_owner, to_named_team
from teamvars.domain.access import Level
from teamvars.domain.errors import (
    NO_SUCH_PROJECT,
    OWNERS_HAVE_ACCESS,
    PROJECT_GRANT_TAKEN,
    Refusal,
    not_found,
    refuse_all,
)
from teamvars.domain.project_grants import (
    PERMISSIONS,
    ProjectAccessType,
    ProjectGrant,
    ProjectGrantDraft,
)
from teamvars.domain.projects import Project


def read(found: Found, id_: str) -> ProjectGrant:
    """One grant on a project, of whoever sees the team and the project."""
    found.of(WhoCalls())
    grant = found.of(ProjectGrantWithId(id_))
    found.of(ToTeam(grant.team_id)).require_visible()
    to_project(found, grant.project_id)
    return grant


def create(found: Found, draft: ProjectGrantDraft, id_: str) -> Decision[ProjectGrant]:
    """Gives a team access to a project of its organization.

    Refuses: forbidden, every fault of the draft, the owners team, a team that has access.
    """
    found.of(WhoCalls())
    team_id, project_id = draft.team_id, draft.project_id
    if team_id is None or project_id is None:
        refuse_all(draft.all_faults())
        raise not_found()
    team = to_named_team(found, team_id).team
    project = named(found, team.organization_id, project_id)
    if project is None:
        raise Refusal(NO_SUCH_PROJECT)
    found.require_locked([team_id, project.organization_id])
    owners = [OWNERS_HAVE_ACCESS] if team.is_owners else []
    place = team.organization_id, team_id, project_id
    nothing = ProjectGrant(id_, *place, ProjectAccessType.CUSTOM, Level.NONE)
    refuse_all([*draft.all_faults(), *draft.contradictions(nothing), *owners])
    made = draft.applied_to(nothing)
    return together(made, created(found, made, project))


def update(found: Found, id_: str, draft: ProjectGrantDraft) -> Decision[ProjectGrant]:
    """Changes a grant; changes nothing when the draft says nothing new.

    Refuses: forbidden, every fault of the draft, another id than the path's.
    """
    before = _owned(found, id_)
    refuse_all([*draft.all_faults(), *draft.contradictions(before), *draft.conflicts(id_)])
    after = draft.applied_to(before)
    return together(after, *([] if after == before else [changed(found, before, after)]))


def delete(found: Found, id_: str) -> Decision[None]:
    """Takes a team's access to a project away. Refuses: forbidden."""
    grant = _owned(found, id_)
    return deleted(found, grant.team_id, [grant])


def created(found: Found, grant: ProjectGrant, project: Project) -> Decision[None]:
    """A team gets access to a project."""
    note = _put(found, grant, _details(grant))
    return Decision(None, (kept(project), Insert(grant)), (note,), taken=PROJECT_GRANT_TAKEN)


def changed(found: Found, before: ProjectGrant, after: ProjectGrant) -> Decision[None]:
    """A grant becomes another."""
    is_custom = after.access is ProjectAccessType.CUSTOM  # else the access says it
    differing = PERMISSIONS.differing(before.permissions, after.permissions)
    details = others(_details(before), _details(after), differing if is_custom else ())
    return Decision(None, (Update(before, after),), (_put(found, after, details),))


def deleted(found: Found, team_id: str, removed: Sequence[ProjectGrant]) -> Decision[None]:
    """A team loses its access to projects."""
    details = {"projects": sorted(grant.project_id for grant in removed)}
    note = found.note(team_id, "project-grant.remove", team_id, details)
    gone = Delete(ProjectGrant, tuple(grant.id for grant in removed))
    return Decision(None, (gone,), (note,))


def _owned(found: Found, id_: str) -> ProjectGrant:
    grant = read(found, id_)
    require_owner(found.of(ToTeam(grant.team_id)))
    return grant


def _put(found: Found, grant: ProjectGrant, details: Mapping[str, object]) -> Note:
    return found.note(grant.team_id, "project-grant.put", grant.team_id, details)


def _details(grant: ProjectGrant) -> dict[str, object]:
    return {
        "project": grant.project_id,
        "access": grant.access.value,
        "variables": grant.level.word,
    }
