"""Where variable sets reach, what becomes of that when workspaces move, and who may bring sensitive
values of a set to a workspace.

All that changes where sets reach locks the organization's stream: approvals of runners, workspaces
and their projects stay as they are found then.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from teamvars.decisions import Decision, Delete, Found, Need
from teamvars.decisions.needs import ToOrganizationWithId, WorkspacesOf
from teamvars.decisions.runners import RunnersOf, Trust
from teamvars.domain.access import Level, OrganizationAccess
from teamvars.domain.errors import forbidden
from teamvars.domain.runners import Runner
from teamvars.domain.set_effects import Standing
from teamvars.domain.variable_sets import Attached, Target, VariableSet
from teamvars.domain.workspaces import Workspace, WorkspaceRecord

_ONLY_OWNERS = (
    "Only owners bring sensitive values of a set to a workspace that a runner is handed: {}."
)
_ONLY_WRITERS = (
    "A set is brought to workspaces by who may write their variables, and you may not write those "
    "of all that it would reach."
)


class HasSensitive(Need[bool], frozen=True):
    """Whether a set has a sensitive variable."""

    set_id: str


class PlacesOf(Need[Mapping[str, str]], frozen=True):
    """The project that each workspace of an organization is in, by id."""

    organization_id: str


class InWhich(Need[frozenset[str]], frozen=True):
    """Those of some workspaces in which teams have at least that level by a grant."""

    workspace_ids: frozenset[str]
    team_ids: frozenset[str]
    least: Level


class SetsOfProjects(Need[Sequence[tuple[Standing, bool]]], frozen=True):
    """The sets of an organization, by its id and name, that are of some projects or attached to
    them, by id; of each whether it has a sensitive variable.
    """

    organization: tuple[str, str]
    project_ids: frozenset[str]


class SetsAttached(Need[Sequence[VariableSet]], frozen=True):
    """The sets of an organization, by its id and name, that are attached to a workspace or to a
    project, by id.
    """

    organization: tuple[str, str]
    target_id: str


class SetMove(msgspec.Struct, frozen=True):
    """What becomes of a set when workspaces move: the ids of those that it comes to, of those it no
    longer reaches, and of those to which it is attached no longer.
    """

    standing: Standing
    is_sensitive: bool
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    ended: tuple[str, ...]


def within(
    found: Found, owner: OrganizationAccess, ids: Iterable[str], least: Level
) -> frozenset[str]:
    """Those of the workspaces of an organization in which the caller has that level."""
    asked = frozenset(ids)
    if not asked or owner.everywhere >= least:
        return asked
    return found.of(InWhich(asked, owner.team_ids, least))


def require_own(found: Found, before: Standing, after: Standing, trust: Trust) -> None:
    """Refuses to bring a set to workspaces whose variables the caller may not write; and sensitive
    values to one that a runner is handed, or would be by another name, to whoever is no owner: they
    might have a job of that runner print them.
    """
    one = before.set
    owner = found.of(ToOrganizationWithId(one.organization_id))
    if owner.is_owner or not _reaches_more(before, after):
        return
    writes_all = owner.everywhere >= Level.WRITE
    is_sensitive = found.of(HasSensitive(one.id))
    if writes_all and not is_sensitive:
        return
    places = found.of(PlacesOf(one.organization_id)).items()
    gained = frozenset(
        place[0] for place in places if after.reaches(*place) and not before.reaches(*place)
    )
    if within(found, owner, gained, Level.WRITE) != gained:
        raise forbidden(_ONLY_WRITERS)
    if is_sensitive:
        _require_not_handed(found, one.organization_id, gained, trust)


def touched_by(workspace: Workspace, *project_ids: str) -> SetsOfProjects:
    """The sets that a workspace may gain or lose with projects."""
    organization = workspace.organization_id, workspace.organization_name
    return SetsOfProjects(organization, frozenset(project_ids))


def moves(found: Found, records: Sequence[WorkspaceRecord], project_id: str) -> list[SetMove]:
    """What becomes of sets when workspaces of one organization come into a project from others:
    only of those of which something does.
    """
    if not records:
        return []
    inside: dict[str, list[WorkspaceRecord]] = {}
    for one in records:
        inside.setdefault(one.in_project, []).append(one)
    every = []
    for standing, is_sensitive in found.of(touched_by(records[0].workspace, *inside, project_id)):
        near = {*standing.attached.projects, standing.set.project_id or ""}
        # Of a thousand sets each concerns a few of a thousand workspaces.
        left = [one for id_ in sorted(near) for one in inside.get(id_, ())]
        some = records if project_id in near else left
        every.append(_moved(standing, is_sensitive, some, project_id))
    return [one for one in every if one.gained or one.lost or one.ended]


def require_own_moves(found: Found, moves: Sequence[SetMove], trust: Trust) -> None:
    """Refuses whoever is no owner as `require_own` does."""
    for one in moves:
        organization_id = one.standing.set.organization_id
        if one.is_sensitive and not found.of(ToOrganizationWithId(organization_id)).is_owner:
            _require_not_handed(found, organization_id, one.gained, trust)


def handed(
    found: Found, organization_id: str, workspace_ids: Collection[str], trust: Trust
) -> Mapping[str, Sequence[str]]:
    """The names of the runners that some workspaces are handed to, or would be if the operator set
    who approves otherwise; by the ids of these.
    """
    return admitted(approved(found, organization_id, trust), workspace_ids, found.now)


def approved(found: Found, organization_id: str, trust: Trust) -> list[Runner]:
    """The runners of an organization of which somebody approved what they are."""
    return [one for one in found.of(RunnersOf(organization_id)) if trust.was_approved(one)]


def admitted(
    runners: Sequence[Runner], workspace_ids: Collection[str], now: int
) -> Mapping[str, Sequence[str]]:
    """The names of those runners that some workspaces are handed to, by the ids of these."""
    names = {
        id_: [one.spec.name for one in runners if one.may_admit(id_, now)] for id_ in workspace_ids
    }
    return {id_: of_one for id_, of_one in names.items() if of_one}


def detached(found: Found, one: VariableSet, gone: Attached) -> Decision[None]:
    """A set is attached no longer to some of what it was."""
    note = found.note(one.id, "varset.detach", one.id, told_targets(one, gone))
    return Decision(None, (Delete(Target, tuple(gone.targets(one.id))),), (note,))


def told_targets(one: VariableSet, ids: Attached) -> dict[str, object]:
    """What an entry says of what a set is attached to from now on, or no longer."""
    projects = {"projects": sorted(ids.projects)} if ids.projects else {}
    return {"name": one.name, "workspaces": sorted(ids.workspaces), **projects}


def _require_not_handed(
    found: Found, organization_id: str, workspace_ids: Collection[str], trust: Trust
) -> None:
    runners = handed(found, organization_id, workspace_ids, trust)
    if runners:
        told = [
            f"{workspace.name} ({runner})"
            for workspace, _ in found.of(WorkspacesOf(organization_id))
            for runner in runners.get(workspace.id, ())
        ]
        raise forbidden(_ONLY_OWNERS.format(", ".join(told[:10])))


def _reaches_more(before: Standing, after: Standing) -> bool:
    """Whether it might reach a workspace more, were there one."""
    if before.set.is_global:
        return False
    return after.set.is_global or after.attached.but(before.attached) != Attached()


def _moved(
    standing: Standing, is_sensitive: bool, records: Sequence[WorkspaceRecord], project_id: str
) -> SetMove:
    attached, parent = standing.attached, standing.set.project_id
    ended = [
        one.workspace.id
        for one in records
        if one.in_project == parent != project_id and one.workspace.id in attached.workspaces
    ]
    left = Attached(attached.workspaces - frozenset(ended), attached.projects)
    after = Standing(standing.set, left)
    reached = [
        (
            one.workspace.id,
            standing.reaches(one.workspace.id, one.in_project),
            after.reaches(one.workspace.id, project_id),
        )
        for one in records
    ]
    gained = tuple(id_ for id_, was, is_ in reached if is_ and not was)
    lost = tuple(id_ for id_, was, is_ in reached if was and not is_)
    return SetMove(standing, is_sensitive, gained, lost, tuple(ended))
