"""Workspaces as HCP Terraform's clients know them."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from teamvars.domain.access import Caller, Level
from teamvars.domain.errors import forbidden, not_found
from teamvars.domain.ids import prefix_of
from teamvars.domain.pages import Page
from teamvars.domain.workspaces import (
    TERRAFORM_VERSION,
    ExecutionMode,
    Workspace,
    WorkspaceDraft,
    WorkspaceSearch,
    WorkspaceSettings,
)
from teamvars.services.organizations import OrganizationView
from teamvars.services.workspaces import Address, ByNames, Workspaces, WorkspaceView
from teamvars.web.examples import NEW_NAME
from teamvars.web.http.attributes import REQUIRED, Attribute, Group
from teamvars.web.http.operations import Operations
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Identifier, RelatedLink, Time, identifiers, timestamp
from teamvars.web.http.resources import Found, Resource
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import Response
from teamvars.web.organizations import GIVEN_NAME, ORGANIZATION, owner

_ALL = "/api/v2/organizations/{organization}/workspaces"
_BY_NAME = "/api/v2/organizations/{organization}/workspaces/{workspace}"
_BY_ID = "/api/v2/workspaces/{workspace_id}"
_SEARCH = Parameter("search[name]", "A part of the name.")
_WILDCARD = Parameter("search[wildcard-name]", "A name in which * stands for any characters.")
_UNLOCK = "Unlock a workspace; only an owner may force open what another has locked."
_DELETE = "Delete a workspace with its variables; safely means that nobody has locked it."
_DEFAULTS = WorkspaceSettings()
_MODE = Meta(description="Where clients run; nothing runs here, whichever it is.")
_VERSION = Meta(
    pattern=f"^{TERRAFORM_VERSION.pattern}$",
    description="A version, a constraint or 'latest'.",
)


def workspace_path(workspace: Workspace) -> str:
    """The path of a workspace, by names."""
    return f"/api/v2/organizations/{workspace.organization_name}/workspaces/{workspace.name}"


def _page(one: WorkspaceView) -> str:
    return f"/app/{one.workspace.organization_name}/workspaces/{one.workspace.name}"


def _variables(one: WorkspaceView) -> RelatedLink:
    return RelatedLink(f"/api/v2/workspaces/{one.workspace.id}/vars")


def _owns(one: WorkspaceView) -> bool:
    return one.level is Level.OWNER


def _writes(one: WorkspaceView) -> bool:
    return one.level >= Level.WRITE


def _locker(one: WorkspaceView) -> Identifier:
    id_ = one.details.locked_by
    assert id_ is not None  # else it is not shown
    prefix = prefix_of(id_)
    if prefix == "org":  # its own; on the wire its id is its name
        return Identifier(one.workspace.organization_name, "organizations")
    return Identifier(id_, f"{prefix}s")


_PERMISSIONS = Group[WorkspaceView](
    "WorkspacePermissions",
    "What the caller may do; clients ask before they offer it. There are no runs here.",
    Attribute("can-update", bool, _owns),
    Attribute("can-destroy", bool, _owns),
    Attribute("can-force-delete", bool, _owns),
    Attribute("can-read-settings", bool, lambda _: True),
    Attribute("can-read-variable", bool, lambda _: True),
    Attribute("can-update-variable", bool, _writes),
    Attribute("can-lock", bool, _writes),
    Attribute("can-unlock", bool, _writes),
    Attribute("can-force-unlock", bool, _owns),
    Attribute("can-manage-tags", bool, default=False),
    Attribute("can-manage-run-tasks", bool, default=False),
    Attribute("can-queue-run", bool, default=False),
    Attribute("can-queue-apply", bool, default=False),
    Attribute("can-queue-destroy", bool, default=False),
    Attribute("can-create-state-versions", bool, default=False),
    Attribute("can-read-state-versions", bool, default=False),
)
_ACTIONS = Group[WorkspaceView](
    "WorkspaceActions",
    "What can be done with the workspace as it is now.",
    Attribute("is-destroyable", bool, _owns),
)
_OVERWRITES = Group[WorkspaceView](
    "SettingOverwrites",
    "Which settings are the workspace's own: there are none to inherit.",
    Attribute("execution-mode", bool, default=True),
    Attribute("agent-pool", bool, default=True),
)
_RELATIONSHIPS = Group[WorkspaceView](
    "WorkspaceRelationships",
    "What a workspace belongs to, what belongs to it, and who has locked it.",
    owner(lambda one: one.workspace.organization_name),
    Attribute(
        "vars",
        Group(
            "VariablesLinkage",
            "All variables of a workspace, newest first.",
            identifiers("vars", lambda one: one.details.variable_ids),
            Attribute("links", RelatedLink, _variables),
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
    Attribute("self-html", str, _page),
)
WORKSPACE = Resource[WorkspaceView](
    type="workspaces",
    name="Workspace",
    noun="a workspace",
    tag="Workspaces",
    id=lambda one: one.workspace.id,
    path=lambda one: workspace_path(one.workspace),
    draft=WorkspaceDraft,
    include=("organization",),
    included=(ORGANIZATION.shape.type,),
    attributes=(
        Attribute("name", str, lambda one: one.workspace.name, given=GIVEN_NAME, new=REQUIRED),
        Attribute(
            "execution-mode",
            ExecutionMode,
            lambda one: one.details.settings.execution_mode,
            given=Annotated[ExecutionMode, _MODE],
            new=_DEFAULTS.execution_mode,
        ),
        Attribute(
            "operations",
            bool,
            lambda one: one.details.settings.execution_mode is not ExecutionMode.LOCAL,
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
        Attribute("actions", _ACTIONS),
        Attribute("permissions", _PERMISSIONS),
        Attribute("description", str, default=""),
        Attribute("environment", str, default="default"),
        Attribute("working-directory", str, default=""),
        Attribute("resource-count", int, default=0),
        Attribute("allow-destroy-plan", bool, default=True),
        Attribute("assessments-enabled", bool, default=False),
        Attribute("auto-apply", bool, default=False),
        Attribute("file-triggers-enabled", bool, default=True),
        Attribute("global-remote-state", bool, default=True),
        Attribute("queue-all-runs", bool, default=True),
        Attribute("setting-overwrites", _OVERWRITES),
        Attribute("source", str, default="tfe-api"),
        Attribute("speculative-enabled", bool, default=True),
        Attribute("structured-run-output-enabled", bool, default=True),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS), Attribute("links", _LINKS)),
    texts={
        "WorkspaceAttributes": (
            "A workspace's attributes.\n\n"
            "Those with a default are the same for all, and what the tfe provider takes for its "
            "own defaults, so that it finds nothing to change."
        ),
        "WorkspaceListDocument": "One page of the workspaces a caller sees.",
    },
)
_NEW = WORKSPACE.new_body(attributes={"name": NEW_NAME})
_CHANGED = WORKSPACE.changed_body(attributes={"terraform-version": "1.11.4"})


def routes(workspaces: Workspaces) -> list[Route]:
    """What `relationships.configurable.links.related` of a variable points at."""
    return [_read(workspaces, _BY_NAME, "readWorkspaceByName")]


def directory_routes(workspaces: Workspaces) -> list[Route]:
    """All the others, one row an operation."""
    do = Operations(WORKSPACE)
    unlock, force = partial(workspaces.unlock, force=False), partial(workspaces.unlock, force=True)

    async def listed(
        caller: Caller, owner: str, wanted: WorkspaceSearch, page: Page, includes: frozenset[str]
    ) -> Found[WorkspaceView]:
        found = await workspaces.list(caller, owner, wanted, page)
        if not includes:
            return Found(found.workspaces, found.total)
        # No organization stands beside no workspace.
        whose = ORGANIZATION.shape.of(OrganizationView(found.organization, found.is_owner))
        return Found(found.workspaces, found.total, [whose] if found.workspaces else [])

    return [
        do.lists(
            _ALL,
            "List the workspaces of an organization that the caller sees, by name.",
            listed,
            asks=_search,
            reads=(_SEARCH, _WILDCARD),
        ),
        do.creates(_ALL, "Create a workspace.", workspaces.create, _NEW),
        _read(workspaces, _BY_ID, "readWorkspace"),
        *_changes(workspaces, _BY_NAME, "WorkspaceByName"),
        *_changes(workspaces, _BY_ID, "Workspace"),
        do.acts(
            f"{_BY_ID}/actions/lock",
            "Lock a workspace for the caller; the body, with its empty type, is ignored.",
            workspaces.lock,
            name="lockWorkspace",
        ),
        do.acts(f"{_BY_ID}/actions/unlock", _UNLOCK, unlock, name="unlockWorkspace"),
        do.acts(f"{_BY_ID}/actions/force-unlock", _UNLOCK, force, name="forceUnlockWorkspace"),
        *_states(workspaces),
    ]


def _states(workspaces: Workspaces) -> list[Route]:
    async def read_state(request: Request) -> Response:
        """Say that there is no state here."""
        await workspaces.read(request.require_caller(), request.parameters["workspace_id"])
        raise not_found()

    async def refuse_state(request: Request) -> Response:
        """Say that no state is kept here."""
        await workspaces.read(request.require_caller(), request.parameters["workspace_id"])
        raise forbidden("No state is kept here. Use a backend that keeps it.")

    return [
        Route(
            "GET",
            f"{_BY_ID}/current-state-version",
            read_state,
            {},
            tag=WORKSPACE.tag,
            name="readCurrentStateVersion",
        ),
        Route(
            "POST",
            f"{_BY_ID}/state-versions",
            refuse_state,
            {},
            tag=WORKSPACE.tag,
            may_forbid=True,
            name="createStateVersion",
        ),
    ]


def _read(workspaces: Workspaces, path: str, name: str) -> Route:
    async def read(
        caller: Caller, address: Address, includes: frozenset[str]
    ) -> Found[WorkspaceView]:
        found = await workspaces.read(caller, address, organization=bool(includes))
        if found.organization is None:
            return Found([found], 1)
        whose = OrganizationView(found.organization, found.level is Level.OWNER)
        return Found([found], 1, [ORGANIZATION.shape.of(whose)])

    return Operations(WORKSPACE).reads(path, "Read a workspace.", read, asks=_address, name=name)


def _changes(workspaces: Workspaces, path: str, noun: str) -> list[Route]:
    do = Operations(WORKSPACE)
    return [
        do.updates(
            path,
            "Update a workspace: its name, execution mode or Terraform version.",
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
    part, wildcard = text_of(request, _SEARCH) or "", text_of(request, _WILDCARD) or "*"
    return request.parameters["organization"], WorkspaceSearch(part, wildcard)
