"""What a directory file makes of organizations, and of the access that teams have to workspaces and
to projects: determined in memory, written later.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import TypeVar

from msgspec.structs import replace

from teamvars.decisions import (
    Decision,
    Found,
    memberships,
    organizations,
    owners,
    team_access,
    teams,
    workspaces,
)
from teamvars.domain.access import Level
from teamvars.domain.directory import (
    FileAccess,
    OrganizationEntry,
    OrganizationIds,
    ProjectAccess,
    TagsEntry,
    TeamEntry,
)
from teamvars.domain.errors import Code
from teamvars.domain.ids import new_id
from teamvars.domain.memberships import Membership
from teamvars.domain.names import FormerNames, Origin, fold
from teamvars.domain.project_grants import ProjectGrant
from teamvars.domain.projects import Project
from teamvars.domain.tags import Tags, surplus
from teamvars.domain.team_access import LEVEL_OF, Grant
from teamvars.domain.teams import OWNERS, Team, Visibility
from teamvars.domain.workspaces import Workspace, WorkspaceRecord
from teamvars.services.directory_files.actual import OrganizationState, Part, unnamed
from teamvars.services.directory_files.changeset import Changeset, Names, Step
from teamvars.services.directory_files.people import People
from teamvars.services.directory_files.projects import Projects, record_of

_NO_ORIGIN = Origin()

T = TypeVar("T")


class Contents(Part):
    """Compares the entry of one organization with its `state`."""

    def __init__(
        self,
        entry: OrganizationEntry,
        state: OrganizationState,
        people: People,
        changeset: Changeset,
    ) -> None:
        super().__init__(entry, state, changeset)
        self._people = people
        self._projects = Projects(entry, state, changeset)
        self._owners = state.active_owners()

    def apply(self) -> None:
        """Adds, changes and renames what the file names."""
        self._rename()
        self._projects.apply()
        self._apply_members()
        self._apply_workspaces()
        for team in sorted(self._entry.teams, key=lambda team: fold(team.name) != OWNERS):
            self._apply_team(team)

    def prune(self, *, delete_variables: bool) -> None:
        """Removes the teams, workspaces, projects and members that the file does not name."""
        state, changeset = self._state, self._changeset
        for team in unnamed(state.teams, (team.name for team in self._entry.teams)):
            if not team.is_owners:
                told = f"delete team {state.name}/{team.name}"
                changeset.add(Step.DELETE_TEAM, [told], teams.deleted, team)
        for workspace in unnamed(state.workspaces, self._entry.workspaces):
            path = f"{state.name}/{workspace.name}"
            if not delete_variables:
                self._refuse_held(f"Workspace {path}", state.variables[workspace.id])
            told = f"delete workspace {path}"
            changeset.add(Step.DELETE_WORKSPACE, [told], workspaces.deleted, workspace)
            del state.workspaces[fold(workspace.name)]
        self._projects.prune()
        for member in unnamed(state.members, self._entry.members):
            told = f"remove member {member.user.username} of {state.name}"
            changeset.add(Step.DELETE_MEMBER, [told], memberships.deleted, member)
            changeset.end_invitation(member)
            del state.members[fold(member.user.username)]

    def look_at_owners(self) -> None:
        """A file must not remove an organization's last active owner. Who is one is told of those
        that it adds.
        """
        if not self._owners:
            return
        now = self._state.active_owners()
        if not now:
            detail = f"Organization {self._state.name} would have no active owner left."
            at = (team.at for team in self._entry.teams if fold(team.name) == OWNERS)
            self._changeset.refuse(detail, next(at, self._entry.at), Code.LAST_OWNER)
        added = [one for id_, one in now.items() if id_ not in self._owners]
        self._changeset.add(Step.TELL_OWNERS, (), owners.joined, added)

    def ids(self) -> OrganizationIds:
        """The ids of everything the file names."""
        entry, state = self._entry, self._state
        return OrganizationIds(
            state.id,
            {name: state.workspaces[fold(name)].id for name in entry.workspaces},
            {team.name: state.teams[fold(team.name)].id for team in entry.teams},
            {name: state.members[fold(name)].id for name in entry.members},
            {one.name: state.runners[fold(one.name)].id for one in entry.runners},
            {one.name: state.projects[fold(one.name)].id for one in entry.projects},
            {one.name: state.sets[fold(one.name)].id for one in entry.variable_sets},
        )

    @cached_property
    def _usernames(self) -> Mapping[str, str]:
        """What the members are called, those of the file included, by the ids of memberships."""
        return {member.id: member.user.username for member in self._state.members.values()}

    def _rename(self) -> None:
        """Gives teams and workspaces the names that the entry says; owners stays what it is.

        Refuses to make what is called otherwise by now.
        """
        entry, state, changeset = self._entry, self._state, self._changeset
        spaces = Names(
            "workspace",
            f"{state.name}/",
            [
                (name, entry.origins.get(name, _NO_ORIGIN), entry.workspace_at.get(name, entry.at))
                for name in entry.workspaces
            ],
            state.workspaces,
            state.former["workspace"],
        )
        of_teams = state.names("team", state.teams, entry.teams, OWNERS)
        of_teams.rename(changeset, Step.RENAME_TEAM, teams.changed)
        for before, _ in spaces.rename(changeset, Step.RENAME_WORKSPACE, _workspace_renamed):
            changeset.changed_workspaces.add(before.id)
        spaces.object_to(changeset)
        of_teams.object_to(changeset)

    def _apply_members(self) -> None:
        state, changeset = self._state, self._changeset
        for username, status in self._entry.members.items():
            user = self._people.named(username)
            if user is None:
                detail = f"There is no user {username}; name them under users."
                changeset.refuse(detail, self._entry.member_at.get(username, self._entry.at))
                continue
            before = state.members.get(fold(username))
            told = f"member {user.username} of {state.name}: {status.value}"
            if before is None:
                place = state.id, state.name
                after = Membership(new_id("ou"), *place, user, status, changeset.now)
                changeset.add(Step.CREATE_MEMBER, [f"add {told}"], memberships.created, after)
            elif before.status is status:
                continue
            else:
                after = before.with_status(status)
                changeset.changed_members.append((before, after))
                changeset.told.append(f"change {told}")
                changeset.end_invitation(before)
            state.members[fold(username)] = after

    def _apply_workspaces(self) -> None:
        state, changeset = self._state, self._changeset
        for name in self._entry.workspaces:
            before = state.workspaces.get(fold(name))
            workspace = before or Workspace(new_id("ws"), name, state.id, state.name)
            former = state.tags.get(workspace.id, Tags())
            tags = self._entry.tags.get(name, TagsEntry()).applied_to(former)
            for fault in surplus(former, tags):
                at = self._entry.workspace_at.get(name, self._entry.at)
                changeset.refuse(f"Workspace {state.name}/{name}: {fault.detail}", at, fault.code)
            project = self._projects.meant(name)
            if before is None:
                self._create_workspace(workspace, tags, project)
                continue
            if tags != former:
                told = [f"change the tags of workspace {state.name}/{workspace.name}"]
                changeset.add(Step.TAG_WORKSPACE, told, _workspace_tagged, workspace, tags)
                changeset.changed_workspaces.add(workspace.id)
            if project is not None:
                self._projects.put(workspace, project)

    def _create_workspace(self, workspace: Workspace, tags: Tags, project: Project | None) -> None:
        made = WorkspaceRecord(workspace, tags=tags)
        if project is not None:
            made = made.put_into(project)
            self._state.placed[workspace.id] = project.id
        self._state.workspaces[fold(workspace.name)] = workspace
        told = [f"create workspace {self._state.name}/{workspace.name}"]
        self._changeset.add(Step.CREATE_WORKSPACE, told, workspaces.created, made)

    def _apply_team(self, entry: TeamEntry) -> None:
        state, changeset = self._state, self._changeset
        before = state.teams.get(fold(entry.name))
        base = before or Team(
            id=new_id("team"),
            organization_id=state.id,
            name=entry.name,
            visibility=Visibility.ORGANIZATION,
            rights=frozenset(),
            is_owners=False,
        )
        team = replace(
            base,
            visibility=_or(entry.visibility, base.visibility),
            rights=entry.rights_after(base.rights),
            members_manage_token=_or(entry.members_manage_token, base.members_manage_token),
        )
        told = f"team {state.name}/{entry.name}"
        if before is None:
            changeset.add(Step.CREATE_TEAM, [f"create {told}"], teams.created, team)
        elif team != before:
            changeset.add(Step.CHANGE_TEAM, [f"update {told}"], teams.changed, before, team)
        state.teams[fold(entry.name)] = team
        if entry.members is not None:
            self._apply_team_members(entry, entry.members, team)
        Grants(entry, team, state, changeset).apply()

    def _apply_team_members(self, entry: TeamEntry, usernames: tuple[str, ...], team: Team) -> None:
        state, changeset = self._state, self._changeset
        path = f"{state.name}/{team.name}"
        wanted: dict[str, str] = {}
        for name in usernames:
            membership = state.members.get(fold(name))
            if membership is None:
                detail = f"Team {path}: {name} is no member of {state.name}."
                changeset.refuse(detail, entry.member_at.get(name, entry.at))
            else:
                wanted[membership.id] = membership.user.username
        present = state.in_team.get(team.id, set())
        names = self._usernames
        if added := sorted(wanted.keys() - present, key=names.__getitem__):
            told = [f"add {names[id_]} to team {path}" for id_ in added]
            changeset.add(Step.JOIN_TEAM, told, memberships.joined, team, added)
        if removed := sorted(present - wanted.keys(), key=names.__getitem__):
            told = [f"remove {names[id_]} from team {path}" for id_ in removed]
            changeset.add(Step.LEAVE_TEAM, told, memberships.left, team, removed)
        state.in_team[team.id] = set(wanted)


class Grants:
    """Compares what the entry of a team says of its access with the `state`, whose workspaces and
    projects are those that there are once the file is applied.
    """

    def __init__(
        self, entry: TeamEntry, team: Team, state: OrganizationState, changeset: Changeset
    ) -> None:
        self._entry = entry
        self._team = team
        self._state = state
        self._changeset = changeset
        self._path = f"{state.name}/{team.name}"

    def apply(self) -> None:
        """Gives, changes and takes away what the file says exactly."""
        entry, state = self._entry, self._state
        if (said := entry.workspaces) is not None:
            refuse = partial(self._refuse, "workspace", entry.workspace_at)
            spaces = state.meant("workspace", state.workspaces, said, refuse)
            self._on_workspaces({one.id: (one, said[name]) for name, one in spaces})
        if (given := entry.projects) is not None:
            refuse = partial(self._refuse, "project", entry.project_at)
            its = state.meant("project", state.projects, given, refuse)
            self._on_projects({one.id: (one, given[name]) for name, one in its})

    def _refuse(self, kind: str, places: Mapping[str, str], name: str, hint: str) -> None:
        detail = f"Team {self._path}: there is no {kind} {self._state.name}/{name}.{hint}"
        self._changeset.refuse(detail, places.get(name, self._entry.at))

    def _on_workspaces(self, wanted: Mapping[str, tuple[Workspace, FileAccess]]) -> None:
        present, changeset = self._state.grants.get(self._team.id, {}), self._changeset
        for id_, (workspace, access) in wanted.items():
            told = [f"grant {self._path} {access.value} on {workspace.name}"]
            level = LEVEL_OF[access]
            if (former := present.get(id_)) is None:
                made = Grant(new_id("tws"), self._state.id, self._team.id, id_, access, level)
                changeset.add(Step.CREATE_GRANT, told, team_access.created, made)
            elif former.access is not access:
                after = replace(former, access=access, level=level, custom={})
                changeset.add(Step.CHANGE_GRANT, told, team_access.changed, former, after)
        if gone := [present[id_] for id_ in sorted(present.keys() - wanted)]:
            names = {space.id: space.name for space in self._state.workspaces.values()}
            told = [
                f"revoke the grant of {self._path} on {names[one.workspace_id]}" for one in gone
            ]
            changeset.add(Step.DELETE_GRANTS, told, team_access.deleted, self._team.id, gone)

    def _on_projects(self, wanted: Mapping[str, tuple[Project, ProjectAccess]]) -> None:
        present, changeset = self._state.project_grants.get(self._team.id, {}), self._changeset
        for id_, (project, said) in wanted.items():
            told = [f"grant {self._path} {said.access.value} on project {project.name}"]
            if (former := present.get(id_)) is None:
                place = self._state.id, self._team.id, id_
                nothing = ProjectGrant(new_id("tprj"), *place, said.access, Level.NONE)
                step, made = Step.CREATE_PROJECT_GRANT, said.applied_to(nothing)
                changeset.add(step, told, team_access.created_on_project, made, project)
            elif (after := said.applied_to(former)) != former:
                step = Step.CHANGE_PROJECT_GRANT
                changeset.add(step, told, team_access.changed, former, after)
        if gone := [present[id_] for id_ in sorted(present.keys() - wanted)]:
            names = {one.id: one.name for one in self._state.projects.values()}
            told = [
                f"revoke the grant of {self._path} on project {names[one.project_id]}"
                for one in gone
            ]
            step = Step.DELETE_PROJECT_GRANTS
            changeset.add(step, told, team_access.deleted, self._team.id, gone)


def rename_organizations(
    entries: Iterable[OrganizationEntry],
    existing: dict[str, OrganizationState],
    former: FormerNames,
    changeset: Changeset,
) -> None:
    """Gives organizations the names that their entries say, in `existing` by folded name; refuses
    to make those that are called otherwise by now.
    """
    live = {name: state.organization for name, state in existing.items()}
    named = [(entry.name, entry.origin, entry.at) for entry in entries]
    names = Names("organization", "", named, live, former)
    renamed = names.rename(changeset, Step.RENAME_ORGANIZATION, organizations.changed)
    for before, after in renamed:
        state = existing.pop(fold(before.name))
        state.organization = after
        existing[fold(after.name)] = state
    names.object_to(changeset)


def _workspace_renamed(found: Found, before: Workspace, after: Workspace) -> Decision[None]:
    record = record_of(found, before)
    return workspaces.changed(found, record, replace(record, workspace=after))


def _workspace_tagged(found: Found, workspace: Workspace, tags: Tags) -> Decision[None]:
    record = record_of(found, workspace)
    return workspaces.changed(found, record, replace(record, tags=tags))


def _or(said: T | None, otherwise: T) -> T:
    return otherwise if said is None else said
