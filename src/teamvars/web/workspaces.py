"""Workspaces as HCP Terraform's clients know them, and who has access to them."""

from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.access import Level, Principal, PrincipalKind
from teamvars.domain.client_settings import Value
from teamvars.domain.ids import prefix_of
from teamvars.domain.tags import MAX_TAGS, SaidBinding, SaidName, TagsDraft
from teamvars.domain.workspaces import (
    MAX_VERSION_CHARACTERS,
    OWN_MODE,
    OWN_POOL,
    SETTINGS,
    TERRAFORM_VERSION,
    Address,
    ByNames,
    ExecutionMode,
    Workspace,
    WorkspaceDraft,
    WorkspaceSearch,
    WorkspaceSettings,
)
from teamvars.services.workspaces import Accesses, WorkspacePage, Workspaces
from teamvars.web.client_settings import read_values, setting_attribute
from teamvars.web.examples import NEW_NAME
from teamvars.web.http.parameters import BY_NAME, Parameter, text_of, words_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import (
    REQUIRED,
    Attribute,
    Group,
    Identifier,
    RelatedLink,
    Time,
    fixed,
    flags,
    identifiers,
    one_of,
    timestamp,
    to_many,
)
from teamvars.web.http.resources import Found, Operations, Resource, Work
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response
from teamvars.web.organizations import GIVEN_NAME, ORGANIZATION, owner
from teamvars.web.projects import PROJECT, project_linkage
from teamvars.web.tag_documents import (
    BINDINGS_PLACE,
    EFFECTIVE,
    RELATIONS,
    TAG_NAME,
    TAGGED,
    TAGS_PLACE,
    tagged_with,
)

_ALL = "/api/v2/organizations/{organization}/workspaces"
_BY_NAME = "/api/v2/organizations/{organization}/workspaces/{workspace}"
_BY_ID = "/api/v2/workspaces/{workspace_id}"
_ORGANIZATION, _PROJECT, _EFFECTIVE = "organization", "project", "effective_tag_bindings"
_SEARCH = Parameter("search[name]", "A part of the name.")
_WILDCARD = Parameter("search[wildcard-name]", "A name in which * stands for any characters.")
_TAGS = Parameter(
    "search[tags]", "Only workspaces that have all of these tags or keys.", is_list=True
)
_WITHOUT = Parameter(
    "search[exclude-tags]", "Only workspaces that have none of these.", is_list=True
)
_IN_PROJECT = Parameter("filter[project][id]", "Only workspaces in this project.")
_NAMES_PLACE = "/data/attributes/tag-names"
_CONSUMERS = "relationships/remote-state-consumers"
_UNLOCK = "Unlock a workspace; forcing opens what somebody else has locked."
_DELETE = "Delete a workspace with its variables; a safe delete refuses one that is locked."
_DEFAULTS = WorkspaceSettings()
_IN_OBJECTS = (OWN_MODE, OWN_POOL)
_NOT_SHOWN = ("agent-pool-id", "migration-environment")
_MODES = (ExecutionMode.REMOTE.value, ExecutionMode.LOCAL.value)
_MODE = Meta(description="Where clients run; the organization's default unless it says one.")
_OPERATIONS = Meta(description="Instead of a mode: true is remote, and false is local.")
_TAG_NAMES = Meta(max_length=MAX_TAGS, description="In the place of the names there are.")
_VERSION = Meta(
    pattern=f"^({TERRAFORM_VERSION.pattern})$",
    max_length=MAX_VERSION_CHARACTERS,
    description="A version, a constraint or 'latest'.",
)


def workspace_path(workspace: Workspace) -> str:
    """The path of a workspace, by names."""
    return f"/api/v2/organizations/{workspace.organization_name}/workspaces/{workspace.name}"


def _owns(one: WorkspaceView) -> bool:
    return one.level >= Level.MANAGE


def _locker(one: WorkspaceView) -> Identifier:
    id_ = one.details.locked_by
    assert id_ is not None  # else it is not shown
    prefix = prefix_of(id_)
    if prefix == "org":  # its own; on the wire its id is its name
        return Identifier(one.workspace.organization_name, "organizations")
    return Identifier(id_, f"{prefix}s")


def _draft(
    settings: dict[str, Any] | None = None,
    tag_names: list[str] | None = None,
    tags: tuple[SaidName, ...] | None = None,
    tag_bindings: tuple[SaidBinding, ...] | None = None,
    **said: Any,
) -> WorkspaceDraft:
    """What a request says of a workspace. Names are said as an attribute or as a relationship."""
    listed = {
        _NAMES_PLACE: tag_names or (),
        TAGS_PLACE: tags or (),
        BINDINGS_PLACE: tag_bindings or (),
    }
    if tag_names is not None:
        names = (SaidName(name, f"{_NAMES_PLACE}/{n}") for n, name in enumerate(tag_names))
        tags = (*(tags or ()), *names)
    longest = max(listed, key=lambda at: len(listed[at]))
    return WorkspaceDraft(
        settings=read_values(settings), tags=TagsDraft(tags, tag_bindings, at=longest), **said
    )


def _value(view: WorkspaceView, name: str) -> Value:
    return view.details.settings.value(name)


def _attribute(name: str) -> Attribute[WorkspaceView]:
    return setting_attribute(SETTINGS.by_name[name], _value, is_shown=name not in _NOT_SHOWN)


_OVERWRITES = Group[WorkspaceView](
    "SettingOverwrites",
    "Which settings are the workspace's own, and not its organization's.",
    *map(_attribute, _IN_OBJECTS),
    given="Which settings are to be the workspace's own, and not its organization's.",
)
_PLAIN = [_attribute(name) for name in SETTINGS.by_name if name not in _IN_OBJECTS]
"""The settings that stand in no object."""
_PERMISSIONS = Group[WorkspaceView](
    "WorkspacePermissions",
    "What the caller may do; clients ask before they offer it. Whoever asks for a run is told that "
    "there are none.",
    *flags(_owns, "can-update", "can-destroy", "can-force-delete", "can-manage-tags"),
    *flags(lambda _: True, "can-read-settings", "can-read-variable"),
    *flags(lambda _: True, "can-queue-run", "can-queue-apply", "can-queue-destroy"),
    *flags(lambda one: one.level >= Level.WRITE, "can-update-variable", "can-lock", "can-unlock"),
    Attribute("can-force-unlock", bool, _owns),
    *fixed(
        {
            "can-manage-run-tasks": False,
            "can-create-state-versions": False,
            "can-read-state-versions": False,
        }
    ),
)
_ACTIONS = Group[WorkspaceView](
    "WorkspaceActions",
    "What can be done with the workspace as it is now.",
    Attribute("is-destroyable", bool, _owns),
)
_RELATIONSHIPS = Group[WorkspaceView](
    "WorkspaceRelationships",
    "What a workspace belongs to, what belongs to it, and who has locked it.",
    owner(lambda one: one.workspace.organization_name),
    project_linkage(lambda one: one.record.in_project),
    Attribute(
        "vars",
        Group(
            "VariablesLinkage",
            "All variables of a workspace, newest first; not in a list of very many.",
            identifiers(
                "vars",
                lambda one: one.details.variable_ids or (),
                lambda one: one.details.variable_ids is not None,
            ),
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(f"/api/v2/workspaces/{one.workspace.id}/vars"),
            ),
        ),
    ),
    Attribute(
        "effective-tag-bindings",
        Group(
            "EffectiveTagBindingsLinkage",
            "The keys with values that count in a workspace.",
            identifiers(EFFECTIVE.type, lambda one: [each.id for each in one.effective_bindings]),
            Attribute(
                "links",
                RelatedLink,
                lambda one: RelatedLink(
                    f"/api/v2/workspaces/{one.workspace.id}/effective-tag-bindings"
                ),
            ),
        ),
    ),
    Attribute(
        "locked-by",
        Group(
            "LockHolder",
            "Who has locked a workspace: a user, or a team or organization with its token.",
            Attribute("data", Identifier, _locker),
        ),
        when=lambda one: one.details.locked_by is not None,
    ),
)
_LINKS = Group[WorkspaceView](
    "WorkspaceLinks",
    "The paths of the workspace: here, and of its page where clients expect one.",
    Attribute("self", str, lambda one: workspace_path(one.workspace)),
    Attribute(
        "self-html",
        str,
        lambda one: f"/app/{one.workspace.organization_name}/workspaces/{one.workspace.name}",
    ),
)
WORKSPACE = Resource[WorkspaceView](
    type="workspaces",
    name="Workspace",
    noun="a workspace",
    tag="Workspaces",
    id=lambda one: one.workspace.id,
    path=lambda one: workspace_path(one.workspace),
    draft=_draft,
    relations=RELATIONS,
    include=(_ORGANIZATION, _PROJECT, _EFFECTIVE),
    included=(ORGANIZATION.shape.type, PROJECT.shape.type, EFFECTIVE.shape.type),
    attributes=(
        Attribute("name", str, lambda one: one.workspace.name, given=GIVEN_NAME, new=REQUIRED),
        Attribute(
            "execution-mode",
            ExecutionMode,
            lambda one: one.details.settings.mode,
            given=one_of(_MODES, _MODE),
        ),
        Attribute(
            "operations",
            bool,
            lambda one: one.details.settings.mode is not ExecutionMode.LOCAL,
            given=Annotated[bool, _OPERATIONS],
        ),
        Attribute(
            "terraform-version",
            str,
            lambda one: one.details.settings.terraform_version,
            given=Annotated[str, _VERSION],
            new=_DEFAULTS.terraform_version,
        ),
        Attribute(
            "created-at", Time, lambda one: timestamp(one.details.created_at, one.workspace.id)
        ),
        Attribute("locked", bool, lambda one: one.details.locked_by is not None),
        Attribute("variables-count", int, lambda one: one.details.variables_count),
        Attribute(
            "tag-names",
            list[str],
            lambda one: one.details.tags.names,
            given=Annotated[list[TAG_NAME], _TAG_NAMES] | None,
        ),
        Attribute("actions", _ACTIONS),
        Attribute("permissions", _PERMISSIONS),
        *fixed({"environment": "default", "resource-count": 0, "source": "tfe-api"}),
        Attribute("setting-overwrites", _OVERWRITES, given=_OVERWRITES),
        *_PLAIN,
    ),
    members=(Attribute("relationships", _RELATIONSHIPS), Attribute("links", _LINKS)),
    texts={
        "WorkspaceAttributes": (
            "A workspace's attributes.\n\n"
            "Those that say how runs and states are handled are kept and shown, and do nothing: "
            "there are none here. What has a default is the same for all workspaces."
        ),
        "WorkspaceListDocument": "One page of the workspaces a caller sees.",
    },
)
_NEW = WORKSPACE.new_body(attributes={"name": NEW_NAME})
_CHANGED = WORKSPACE.changed_body(attributes={"terraform-version": "1.11.4"})
_PRINCIPAL_TYPES = {"user": "users"}
_TOKEN_TYPE = "authentication-tokens"

AccessWord = Literal["read", "write"]


class AccessWay(msgspec.Struct):
    """A team that gives access, and how much."""

    team: str
    access: AccessWord


def _access_word(level: Level) -> AccessWord:
    return "write" if level >= Level.WRITE else "read"


_ACCESS_RELATIONSHIPS = Group[Principal](
    "WorkspaceAccessRelationships",
    "Who has access, and through which teams.",
    Attribute(
        "principal",
        Group(
            "OnePrincipal",
            "A relationship to a user or a token.",
            Attribute(
                "data",
                Identifier,
                lambda one: Identifier(one.id, _PRINCIPAL_TYPES.get(one.kind, _TOKEN_TYPE)),
            ),
        ),
    ),
    to_many(
        "teams",
        "TeamsOfAccess",
        "A relationship to the teams that give access, in the order of `through`.",
        "teams",
        lambda one: [way.team_id for way in one.ways],
    ),
)
ACCESS = Resource[Principal](
    type="workspace-accesses",
    name="WorkspaceAccess",
    noun="an access",
    tag="Accesses",
    id=lambda one: one.id,
    attributes=(
        Attribute("kind", PrincipalKind, lambda one: one.kind),
        Attribute("name", str, lambda one: one.name),
        Attribute("access", AccessWord, lambda one: _access_word(one.level)),
        Attribute(
            "through",
            list[AccessWay],
            lambda one: [AccessWay(way.team, _access_word(way.level)) for way in one.ways],
        ),
    ),
    members=(Attribute("relationships", _ACCESS_RELATIONSHIPS),),
    texts={
        "WorkspaceAccessAttributes": (
            "Who it is, and what they may do with the variables: `write` includes `read`.\n\n"
            "A token is named as the team or organization it belongs to. `access` is the highest "
            "of what is in `through`, where the team `owners` gives `write`; the organization's "
            "token needs no team."
        ),
        "WorkspaceAccessResource": "The access of one user or token; its id is theirs.",
        "WorkspaceAccessListDocument": "One page of those who have access to a workspace.",
    },
)


class IncludedWorkspaceAttributes(msgspec.Struct):
    """What others say of a workspace."""

    name: str


class IncludedWorkspace(msgspec.Struct, tag_field="type", tag="workspaces"):
    """A workspace that is included, by its name."""

    id: str
    attributes: IncludedWorkspaceAttributes


def routes(workspaces: Workspaces) -> list[Route]:
    """What `relationships.configurable.links.related` of a variable points at."""
    return [_read(workspaces, _BY_NAME, "readWorkspaceByName")]


def directory_routes(workspaces: Workspaces) -> list[Route]:
    """All the others, one row an operation."""
    do = Operations(WORKSPACE)
    unlock, force = partial(workspaces.unlock, force=False), partial(workspaces.unlock, force=True)
    return [
        do.lists(
            _ALL,
            "List the workspaces of an organization that the caller sees, by name.",
            workspaces.list,
            shows=_found,
            asks=_search,
            expands="related",
            reads=(_SEARCH, _WILDCARD, _TAGS, _WITHOUT, *TAGGED, _IN_PROJECT, BY_NAME),
        ),
        do.creates(_ALL, "Create a workspace.", workspaces.create, _NEW),
        _read(workspaces, _BY_ID, "readWorkspace"),
        *_changes(workspaces, _BY_NAME, "WorkspaceByName"),
        *_changes(workspaces, _BY_ID, "Workspace"),
        do.acts(
            f"{_BY_ID}/actions/lock",
            "Lock a workspace for the caller; the body, with its empty type, is ignored.",
            workspaces.lock,
            refuses=(422,),
            name="lockWorkspace",
        ),
        do.acts(f"{_BY_ID}/actions/unlock", _UNLOCK, unlock, name="unlockWorkspace"),
        do.acts(f"{_BY_ID}/actions/force-unlock", _UNLOCK, force, name="forceUnlockWorkspace"),
        *_states(workspaces),
    ]


def access_routes(accesses: Accesses) -> list[Route]:
    """Who may do what with the variables of a workspace."""
    return [
        Operations(ACCESS).lists(
            "/api/v2/workspaces/{workspace_id}/access",
            "List who may read and write the variables of a workspace, and through which teams.",
            accesses.list,
            may_forbid=True,
            name="listWorkspaceAccesses",
        )
    ]


def _states(workspaces: Workspaces) -> list[Route]:
    """Clients ask for states and runs, of which there are none, and are told what to do instead."""
    no_state, no_runs = workspaces.need_state, workspaces.need_runs
    consumers = "RemoteStateConsumers"
    return [
        Operations(WORKSPACE).lists(
            f"{_BY_ID}/{_CONSUMERS}",
            "List the workspaces that read its state, of which there are none.",
            workspaces.list_consumers,
            name=f"list{consumers}",
        ),
        _refusal("POST", _CONSUMERS, no_state, f"add{consumers}"),
        _refusal("PATCH", _CONSUMERS, no_state, f"replace{consumers}"),
        _refusal("DELETE", _CONSUMERS, no_state, f"remove{consumers}"),
        _refusal(
            "GET", "current-state-version", workspaces.ask_for_state, "readCurrentStateVersion"
        ),
        _refusal(
            "GET", "current-state-version-outputs", no_state, "readCurrentStateVersionOutputs"
        ),
        _refusal("POST", "state-versions", no_state, "createStateVersion"),
        _refusal("POST", "configuration-versions", no_runs, "createConfigurationVersion"),
    ]


def _refusal(method: str, what: str, refuse: Work, name: str) -> Route:
    async def handle(request: Request) -> Response:
        await refuse(request.require_caller(), request.parameters["workspace_id"])
        raise AssertionError

    said: dict[str, Any] = {"tag": WORKSPACE.tag, "refuses": (422,), "name": name}
    text = "Say that no state is kept here, and that nothing runs."
    return Route(method, f"{_BY_ID}/{what}", handle, {}, text=text, **said)


def _read(workspaces: Workspaces, path: str, name: str) -> Route:
    return Operations(WORKSPACE).reads(
        path,
        "Read a workspace.",
        workspaces.read,
        shows=_found,
        expands="related",
        asks=_address,
        name=name,
    )


def _found(found: WorkspacePage | WorkspaceView, includes: frozenset[str]) -> Found[WorkspaceView]:
    """The workspaces of a list, or the one that was read, with what they are in if asked for."""
    if isinstance(found, WorkspacePage):
        items, total, projects = found.workspaces, found.total, found.projects
    else:
        items, total, projects = [found], 1, [found.project] if found.project else []
    if not includes:
        return Found(items, total)
    included: list[msgspec.Struct] = []
    # No organization stands beside no workspace.
    if _ORGANIZATION in includes and items and found.organization is not None:
        included.append(ORGANIZATION.shape.of(found.organization))
    if _PROJECT in includes:
        included += map(PROJECT.shape.of, projects)
    if _EFFECTIVE in includes:
        # Those of a project are the same in all of its workspaces.
        bound = {each.id: each for one in items for each in one.effective_bindings}
        included += map(EFFECTIVE.shape.of, bound.values())
    return Found(items, total, included)


def _changes(workspaces: Workspaces, path: str, noun: str) -> list[Route]:
    do = Operations(WORKSPACE)
    return [
        do.updates(
            path,
            "Update a workspace: its name and settings, and the project it is in.",
            workspaces.update,
            _CHANGED,
            asks=_address,
            name=f"update{noun}",
        ),
        do.deletes(
            path,
            _DELETE,
            partial(workspaces.delete, only_unlocked=False),
            asks=_address,
            name=f"delete{noun}",
        ),
        do.acts(
            f"{path}/actions/safe-delete",
            _DELETE,
            partial(workspaces.delete, only_unlocked=True),
            asks=_address,
            status=204,
            name=f"safeDelete{noun}",
        ),
    ]


def _address(request: Request) -> tuple[Address]:
    if "workspace_id" in request.parameters:
        return (request.parameters["workspace_id"],)
    return (ByNames(request.parameters["organization"], request.parameters["workspace"]),)


def _search(request: Request) -> tuple[str, WorkspaceSearch]:
    wanted = WorkspaceSearch(
        text_of(request, _SEARCH) or "",
        text_of(request, _WILDCARD) or "*",
        words_of(request, _TAGS) or (),
        words_of(request, _WITHOUT) or (),
        tagged_with(request),
        text_of(request, _IN_PROJECT),
        text_of(request, BY_NAME) == "-name",
    )
    return request.parameters["organization"], wanted
