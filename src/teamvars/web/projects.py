"""Projects as HCP Terraform's clients know them."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta

from teamvars.domain.access import Level, ProjectAccess
from teamvars.domain.client_settings import Value
from teamvars.domain.moves import Foreseen, MoveDraft
from teamvars.domain.names import PROJECT_NAME, PROJECT_NAME_RULE
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.pages import Paged
from teamvars.domain.projects import OWN_MODE, OWN_POOL, SETTINGS, ProjectDraft, ProjectSearch
from teamvars.domain.teams import Right
from teamvars.domain.workspaces import default_mode
from teamvars.services.projects import Projects
from teamvars.web.client_settings import read_values, setting_attribute
from teamvars.web.examples import IDS, NEW_NAME
from teamvars.web.http.parameters import BY_NAME, NAMES, PART, text_of, words_of
from teamvars.web.http.reader import ids_or_dry_run
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    RelatedLink,
    Time,
    WorkspaceIdentifier,
    fixed,
    identifiers,
    linkage,
    related,
    several,
    timestamp,
)
from teamvars.web.http.resources import Found, Operations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.organizations import owner
from teamvars.web.tag_documents import EFFECTIVE, OF_PROJECT, TAGGED, tagged_with

_ALL, _ONE = "/api/v2/organizations/{organization}/projects", "/api/v2/projects/{project_id}"
_LINKED = f"{_ONE}/relationships/workspaces"
_NAME = Meta(pattern=f"^{PROJECT_NAME.pattern}$", description=f"{PROJECT_NAME_RULE}.")
_NOT_SHOWN = ("default-agent-pool-id",)
_EFFECTIVE = "effective_tag_bindings"
AccessWord = Literal["none", "read", "write"]
_IN_OBJECTS = (OWN_MODE, OWN_POOL)

T = TypeVar("T")


class AccessChangeAttributes(msgspec.Struct):
    """What a team may do to variables before and after, in how many of the workspaces."""

    team: str
    before: AccessWord
    after: AccessWord
    workspaces: int


class AccessChangeResource(msgspec.Struct):
    """A team that gains or loses access; its id is the team's."""

    id: str
    attributes: AccessChangeAttributes
    type: Literal["access-changes"] = "access-changes"


class ForeseenMeta(msgspec.Struct, rename="kebab"):
    """How many workspaces would come from elsewhere, and of how many teams the access would change
    that the caller does not see; the names of the variable sets that would come to some of them and
    of those that would not reach some any more; and those of the runners that would be handed
    sensitive values that come.
    """

    dry_run: bool
    workspaces: int
    unseen_teams: int
    gained_varsets: list[str]
    lost_varsets: list[str]
    runners: list[str]


class ForeseenDocument(msgspec.Struct):
    """What would come of a move: who gains and loses access, and which sets come and go."""

    data: list[AccessChangeResource]
    meta: ForeseenMeta


ProjectLinkage: Any = linkage("ProjectLinkage", "A relationship to a project.")


def project_linkage(id_of: Callable[[T], str]) -> Attribute[T]:
    """The relationship to the project with that id."""
    return related("project", ProjectLinkage, "projects", id_of)


def _draft(settings: dict[str, Any] | None = None, **said: Any) -> ProjectDraft:
    return ProjectDraft(settings=read_values(settings), **said)


def _value(one: ProjectAccess, name: str) -> Value:
    if name == DEFAULT_MODE:  # its organization's unless it has its own
        return default_mode(one.owner.organization.settings, one.project.settings).value
    return one.project.value(name)


def _attribute(name: str) -> Attribute[ProjectAccess]:
    return setting_attribute(SETTINGS.by_name[name], _value, is_shown=name not in _NOT_SHOWN)


def _manages(one: ProjectAccess) -> bool:
    return Right.MANAGE_PROJECTS in one.owner.rights


def _creates(one: ProjectAccess) -> bool:
    rights = one.owner.rights
    return one.owner.moves or (one.project.is_default and Right.MANAGE_WORKSPACES in rights)


_OVERWRITES = Group[ProjectAccess](
    "ProjectSettingOverwrites",
    "Which settings are the project's own, and not its organization's.",
    *map(_attribute, _IN_OBJECTS),
    given="Which settings are to be the project's own, and not its organization's.",
)
_PERMISSIONS = Group[ProjectAccess](
    "ProjectPermissions",
    "What the caller may do; clients ask before they offer it.",
    Attribute("can-read", bool, lambda _: True),
    Attribute("can-update", bool, _manages),
    Attribute("can-destroy", bool, lambda one: _manages(one) and not one.project.is_default),
    Attribute("can-create-workspace", bool, _creates),
    Attribute("can-move-workspace", bool, lambda one: one.owner.moves),
    Attribute("can-read-teams", bool, lambda _: True),
    Attribute("can-manage-teams", bool, lambda one: one.owner.is_owner),
    Attribute("can-manage-tags", bool, _manages),
    Attribute("can-manage-varsets", bool, lambda one: one.writes_sets),
    *fixed({"can-move-stack": False, "can-deploy-no-code-modules": False}),
)
_RELATED_TAGS = (
    Attribute[ProjectAccess](
        "tag-bindings",
        Group(
            "ProjectTagBindingsLink",
            "Where the keys of a project are.",
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(f"{PROJECT.path_of(one)}/tag-bindings"),
            ),
        ),
    ),
    Attribute[ProjectAccess](
        "effective-tag-bindings",
        Group(
            "EffectiveTagBindingsOfProject",
            "The keys of a project with values.",
            identifiers(EFFECTIVE.type, lambda one: [each.id for each in one.own_bindings]),
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(f"{PROJECT.path_of(one)}/effective-tag-bindings"),
            ),
        ),
    ),
)
PROJECT: Resource[ProjectAccess] = Resource(
    type="projects",
    name="Project",
    noun="a project",
    tag="Projects",
    id=lambda one: one.project.id,
    draft=_draft,
    relations=OF_PROJECT,
    include=(_EFFECTIVE,),
    included=(EFFECTIVE.shape.type,),
    tagged=True,
    attributes=(
        Attribute(
            "name", str, lambda one: one.project.name, given=Annotated[str, _NAME], new=REQUIRED
        ),
        Attribute(
            "created-at", Time, lambda one: timestamp(one.project.created_at, one.project.id)
        ),
        Attribute("workspace-count", int, lambda one: one.workspaces),
        Attribute("team-count", int, lambda one: one.teams),
        Attribute("permissions", _PERMISSIONS),
        *fixed({"is-unified": False}),
        Attribute("setting-overwrites", _OVERWRITES, given=_OVERWRITES),
        *(_attribute(name) for name in SETTINGS.by_name if name not in _IN_OBJECTS),
    ),
    members=(
        Attribute(
            "relationships",
            Group[ProjectAccess](
                "ProjectRelationships",
                "The organization that a project is in, and where its tags are.",
                owner(lambda one: one.owner.organization.name),
                *_RELATED_TAGS,
            ),
        ),
    ),
    linked=True,
    texts={
        "ProjectAttributes": (
            "A project's attributes. `workspace-count` and `team-count` say how many workspaces in "
            "it the caller sees, and how many teams with access to it. The execution mode is that "
            "of its workspaces that have none of their own."
        ),
    },
)
_NEW = PROJECT.new_body(attributes={"name": NEW_NAME, "description": "What it is for."})
_CHANGED = PROJECT.changed_body(attributes={"description": "What it is for."})
_MOVED = RequestBody(
    several(
        "MovedWorkspacesDocument",
        "Workspaces that are to be in a project, all or none.",
        WorkspaceIdentifier,
        dry_run=True,
    ),
    {"data": [{"type": "workspaces", "id": IDS["workspace_id"]}]},
)


class IncludedProjectAttributes(msgspec.Struct):
    """What others say of a project."""

    name: str


class IncludedProject(msgspec.Struct, tag_field="type", tag="projects"):
    """A project that is included, by its name."""

    id: str
    attributes: IncludedProjectAttributes


def routes(projects: Projects) -> list[Route]:
    """One row an operation."""
    do = Operations(PROJECT)
    return [
        do.lists(
            _ALL,
            "List the projects of an organization that the caller sees, by name.",
            projects.list,
            shows=_found,
            asks=_search,
            reads=(PART, NAMES, *TAGGED, BY_NAME),
        ),
        do.creates(_ALL, "Create a project.", projects.create, _NEW),
        do.reads(_ONE, "Read a project.", projects.read, shows=_found),
        do.updates(_ONE, "Update a project: its name and settings.", projects.update, _CHANGED),
        do.deletes(
            _ONE,
            "Delete a project in which there is no workspace.",
            projects.delete,
            refuses=(409, 422),
        ),
        do.acts(
            _LINKED,
            "Put workspaces into a project, all or none, or see who would gain and lose access.",
            projects.move,
            takes=_MOVED,
            draft=_moving,
            renders=_foreseen,
            responses={200: ForeseenDocument, 204: None},
            name="moveWorkspaces",
        ),
    ]


def _moving(document: object) -> MoveDraft:
    draft, dry_run = ids_or_dry_run(document, "workspaces")
    return MoveDraft(draft.ids, draft.faults, dry_run)


def _foreseen(foreseen: Foreseen) -> Response:
    data = [
        AccessChangeResource(
            one.team.id,
            AccessChangeAttributes(
                one.team.name, _word(one.before), _word(one.after), one.workspaces
            ),
        )
        for one in foreseen.changes
    ]
    meta = ForeseenMeta(
        True,
        foreseen.workspaces,
        foreseen.unseen,
        list(foreseen.gained),
        list(foreseen.lost),
        list(foreseen.runners),
    )
    return Response.document(200, ForeseenDocument(data, meta))


def _word(level: Level) -> AccessWord:
    return "write" if level >= Level.WRITE else "read" if level else "none"


def _found(
    found: Paged[ProjectAccess] | ProjectAccess, includes: frozenset[str]
) -> Found[ProjectAccess]:
    """The projects of a list, or the one that was read, with their tags if asked for."""
    page = found if isinstance(found, Paged) else Paged([found], 1)
    bound = (each for one in page.items for each in one.own_bindings)
    included = [EFFECTIVE.shape.of(each) for each in bound] if includes else UNSET
    return Found(page.items, page.total, included)


def _search(request: Request) -> tuple[str, ProjectSearch]:
    reverse = text_of(request, BY_NAME) == "-name"
    names, part = words_of(request, NAMES), text_of(request, PART)
    wanted = ProjectSearch(names, part, tagged_with(request), reverse)
    return request.parameters["organization"], wanted
