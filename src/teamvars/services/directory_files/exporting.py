"""The directory as a file: the one whose application changes nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from teamvars.domain.directory import (
    FILE_ACCESS,
    Directory,
    Exported,
    FileAccess,
    OrganizationEntry,
    ProjectAccess,
    ProjectEntry,
    RunnerEntry,
    SetEntry,
    TagsEntry,
    TeamEntry,
    UserEntry,
)
from teamvars.domain.names import Origin, fold, is_email
from teamvars.domain.projects import DEFAULT_NAME
from teamvars.domain.runners import Runner, unreadable
from teamvars.domain.teams import Team
from teamvars.domain.users import User
from teamvars.services.directory_files import actual
from teamvars.services.directory_files.changeset import Changeset
from teamvars.services.directory_files.people import People
from teamvars.storage import access_by_name, organizations, users
from teamvars.storage.database import Transaction

_WORDS: Mapping[str, FileAccess] = {access.value: access for access in FILE_ACCESS}


async def export(tx: Transaction, names: Sequence[str]) -> Exported:
    """All users and organizations, or those named with the users in them, by name."""
    found = await (
        access_by_name.organizations_meant(tx, names) if names else organizations.every(tx)
    )
    everybody = await users.every(tx)
    states = await actual.load(tx, found.values(), People((), Changeset(0)))
    unsaid: list[str] = []
    entries = [_organization(state, unsaid) for _, state in sorted(states.items())]
    members = {fold(name) for entry in entries for name in entry.members}
    shown = [user for user in everybody if not names or fold(user.username) in members]
    unsaid += _unsaid_of(shown)
    known = tuple(
        UserEntry(user.username, _email(user), user.site_admin)
        for user in shown
        if not user.placeholder
    )
    return Exported(Directory(known, tuple(entries)), unsaid)


def _unsaid_of(shown: Iterable[User]) -> list[str]:
    """What a file cannot say of users: that one is disabled, or only invited so far."""
    said = []
    for user in shown:
        if user.placeholder:
            said.append(
                f"User {user.username} was only invited so far, so the file does not list them "
                "under users. Add them there before you apply it to another installation."
            )
        elif user.email is not None and _email(user) is None:
            said.append(f"The address of user {user.username} cannot be in a file.")
        if user.disabled:
            said.append(f"User {user.username} is disabled, which the file cannot say.")
    return said


def _email(user: User) -> str | None:
    """The address, unless an older release admitted one that a file may not have today."""
    return user.email if user.email is not None and is_email(user.email) else None


def _organization(state: actual.OrganizationState, unsaid: list[str]) -> OrganizationEntry:
    members = {one.user.username: one.status for _, one in sorted(state.members.items())}
    spaces = [space.name for _, space in sorted(state.workspaces.items())]
    in_order = sorted(state.teams.values(), key=lambda one: (not one.is_owners, fold(one.name)))
    teams = [_team(state, team, unsaid) for team in in_order]
    runners = [
        _runner(state, runner)
        for _, runner in sorted(state.runners.items())
        if runner.spec != unreadable(runner.spec.name)
    ]
    tags = {
        space.name: TagsEntry(held.names or None, held.bindings or None)
        for space in state.workspaces.values()
        if (held := state.tags[space.id]).count
    }
    names = {one.id: one.name for one in state.projects.values()}
    return OrganizationEntry(
        state.name,
        members,
        tuple(spaces),
        tuple(teams),
        tuple(runners),
        tags=tags,
        projects=tuple(_projects(state)),
        placed={
            space.name: project
            for space in state.workspaces.values()
            if (project := names.get(state.placed.get(space.id, "")))  # none in what is broken
        },
        variable_sets=tuple(_sets(state)),
    )


def _projects(state: actual.OrganizationState) -> Iterator[ProjectEntry]:
    """All projects, but not the default one as it is at first."""
    for _, one in sorted(state.projects.items()):
        bindings = state.bindings[one.id] or None
        if not one.is_default:
            yield ProjectEntry(one.name, bindings)
        elif one.name != DEFAULT_NAME:
            yield ProjectEntry(one.name, bindings, origin=Origin(DEFAULT_NAME))
        elif bindings:
            yield ProjectEntry(one.name, bindings)


def _sets(state: actual.OrganizationState) -> Iterator[SetEntry]:
    spaces = {one.id: (name, one.name) for name, one in state.workspaces.items()}
    projects = {one.id: (name, one.name) for name, one in state.projects.items()}
    for _, one in sorted(state.sets.items()):
        ids = state.attached[one.id]
        yield SetEntry(
            one.name,
            one.description,
            one.is_global,
            one.is_priority,
            _named(spaces, ids),
            project=next(iter(_named(projects, (one.project_id or "",))), None),
            projects=_named(projects, ids),
        )


def _named(names: Mapping[str, tuple[str, str]], ids: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that are of these, in the order in which they are compared."""
    return tuple(name for _, name in sorted(names[id_] for id_ in ids if id_ in names))


def _runner(state: actual.OrganizationState, runner: Runner) -> RunnerEntry:
    names, spec = {space.id: space.name for space in state.workspaces.values()}, runner.spec
    return RunnerEntry(
        spec.name,
        spec.description,
        spec.issuer,
        spec.conditions if spec.issuer is not None else None,
        spec.public_key,
        tuple(names[id_] for id_ in spec.workspace_ids if id_ in names),
        spec.workspace_patterns,
        spec.include_sensitive,
        spec.allow_unbound,
        spec.max_ttl,
        spec.expires_at,
    )


def _team(state: actual.OrganizationState, team: Team, unsaid: list[str]) -> TeamEntry:
    ids = state.in_team[team.id]
    members = tuple(one.user.username for _, one in sorted(state.members.items()) if one.id in ids)
    entry = TeamEntry(
        team.name,
        team.visibility,
        False,  # which a file says of every team that has not the right
        team.members_manage_token,
        members,
    )
    rights = {right.replace("-", "_"): True for right in team.rights}
    if team.is_owners:
        return replace(entry, **rights)
    spaces = _on_workspaces(state, team, unsaid)
    return replace(entry, **rights, workspaces=spaces, projects=_on_projects(state, team))


def _on_projects(state: actual.OrganizationState, team: Team) -> Mapping[str, ProjectAccess]:
    """A team's access to projects, by their names."""
    grants = state.project_grants.get(team.id, {})
    return {
        one.name: ProjectAccess.of(grants[one.id])
        for _, one in sorted(state.projects.items())
        if one.id in grants
    }


def _on_workspaces(
    state: actual.OrganizationState, team: Team, unsaid: list[str]
) -> Mapping[str, FileAccess] | None:
    """Access types by name; None, and a line about them, if a file has no word for one."""
    names = {one.id: one.name for one in state.workspaces.values()}
    granted = state.grants[team.id].items()
    found = sorted((fold(names[id_]), names[id_], grant.access.value) for id_, grant in granted)
    other = ", ".join(f"{name}: {word}" for _, name, word in found if word not in _WORDS)
    if not other:
        return {name: _WORDS[word] for _, name, word in found}
    unsaid.append(
        f"Team {state.name}/{team.name} has grants that a file has no word for ({other}): "
        "its workspaces are left out, and applying leaves them as they are."
    )
    return None
