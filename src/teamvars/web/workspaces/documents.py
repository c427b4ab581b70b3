"""The documents of workspaces: what the service takes and what it answers with."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.access import Level
from teamvars.domain.ids import prefix_of
from teamvars.domain.workspaces import ExecutionMode, Workspace, WorkspaceDraft
from teamvars.services.organizations import OrganizationView
from teamvars.services.workspaces import WorkspacePage, WorkspaceView
from teamvars.web.examples import NEW_NAME
from teamvars.web.http import paging
from teamvars.web.http.formats import Time, timestamp
from teamvars.web.http.reader import Reader
from teamvars.web.http.resource_objects import Identifier, RelatedLink
from teamvars.web.http.routes import RequestBody
from teamvars.web.organizations import documents as organization_documents
from teamvars.web.organizations.documents import NAME, OrganizationLinkage, OrganizationResource

ORGANIZATION = "organization"
INCLUDES = frozenset({ORGANIZATION})
_MODE = Meta(description="Where clients run; nothing runs here, whichever it is.")
_VERSION = Meta(
    pattern="^[0-9A-Za-z.+~<>=!, -]{1,64}$", description="A version, a constraint or 'latest'."
)


class NewWorkspaceAttributes(msgspec.Struct, rename="kebab", kw_only=True):
    """What a create says about a workspace; attributes that are not here are ignored."""

    name: Annotated[str, NAME]
    execution_mode: Annotated[ExecutionMode, _MODE] = ExecutionMode.REMOTE
    terraform_version: Annotated[str, _VERSION] = "latest"


class NewWorkspaceResource(msgspec.Struct):
    """A workspace to create."""

    type: Literal["workspaces"]
    attributes: NewWorkspaceAttributes


class NewWorkspaceDocument(msgspec.Struct):
    """Creates a workspace."""

    data: NewWorkspaceResource


class WorkspaceChanges(msgspec.Struct, rename="kebab", kw_only=True):
    """What an update says about a workspace; what is left out stays."""

    name: Annotated[str, NAME] | UnsetType = UNSET
    execution_mode: Annotated[ExecutionMode, _MODE] | UnsetType = UNSET
    terraform_version: Annotated[str, _VERSION] | UnsetType = UNSET


class ChangedWorkspaceResource(msgspec.Struct):
    """A workspace to update; an `id`, when there is one, is the path's."""

    type: Literal["workspaces"]
    id: str | UnsetType = UNSET
    attributes: WorkspaceChanges | UnsetType = UNSET


class ChangedWorkspaceDocument(msgspec.Struct):
    """Updates a workspace."""

    data: ChangedWorkspaceResource


class WorkspacePermissions(msgspec.Struct, rename="kebab"):
    """What the caller may do, as clients ask before they offer it. There are no runs here."""

    can_update: bool
    can_destroy: bool
    can_force_delete: bool
    can_read_settings: bool
    can_read_variable: bool
    can_update_variable: bool
    can_lock: bool
    can_unlock: bool
    can_force_unlock: bool
    can_manage_tags: bool = False
    can_manage_run_tasks: bool = False
    can_queue_run: bool = False
    can_queue_apply: bool = False
    can_queue_destroy: bool = False
    can_create_state_versions: bool = False
    can_read_state_versions: bool = False


class WorkspaceActions(msgspec.Struct, rename="kebab"):
    """What can be done with the workspace as it is now."""

    is_destroyable: bool


class SettingOverwrites(msgspec.Struct, rename="kebab"):
    """Which settings are the workspace's own: there are none to inherit."""

    execution_mode: bool = True
    agent_pool: bool = True


class WorkspaceAttributes(msgspec.Struct, rename="kebab"):
    """A workspace's attributes.

    Those with a default are the same for all, and what the tfe provider takes for its own defaults,
    so that it finds nothing to change.
    """

    name: str
    execution_mode: ExecutionMode
    operations: bool
    terraform_version: str
    created_at: Time
    locked: bool
    variables_count: int
    actions: WorkspaceActions
    permissions: WorkspacePermissions
    description: str = ""
    environment: str = "default"
    working_directory: str = ""
    resource_count: int = 0
    allow_destroy_plan: bool = True
    assessments_enabled: bool = False
    auto_apply: bool = False
    file_triggers_enabled: bool = True
    global_remote_state: bool = True
    queue_all_runs: bool = True
    setting_overwrites: SettingOverwrites = msgspec.field(default_factory=SettingOverwrites)
    source: str = "tfe-api"
    speculative_enabled: bool = True
    structured_run_output_enabled: bool = True


class VariablesLinkage(msgspec.Struct):
    """All variables of a workspace, newest first."""

    data: list[Identifier]
    links: RelatedLink


class LockHolder(msgspec.Struct):
    """Who has locked a workspace: a user, or a team or organization with its token."""

    data: Identifier


class WorkspaceRelationships(msgspec.Struct, rename="kebab"):
    """What a workspace belongs to, what belongs to it, and who has locked it."""

    organization: OrganizationLinkage
    vars: VariablesLinkage
    locked_by: LockHolder | UnsetType = UNSET


class WorkspaceLinks(msgspec.Struct, rename="kebab"):
    """The paths of the workspace: here, and of its page where clients expect one."""

    self: str
    self_html: str


class WorkspaceResource(msgspec.Struct):
    """A workspace."""

    id: str
    type: str
    attributes: WorkspaceAttributes
    relationships: WorkspaceRelationships
    links: WorkspaceLinks


Included = list[OrganizationResource]


class WorkspaceDocument(msgspec.Struct):
    """One workspace."""

    data: WorkspaceResource
    included: Included | UnsetType = UNSET


class WorkspaceListDocument(msgspec.Struct, kw_only=True):
    """One page of the workspaces a caller sees."""

    data: list[WorkspaceResource]
    included: Included | UnsetType = UNSET
    links: paging.PageLinks
    meta: paging.PageMeta


NEW = RequestBody(
    NewWorkspaceDocument,
    {"data": {"type": "workspaces", "attributes": {"name": NEW_NAME}}},
)
CHANGED = RequestBody(
    ChangedWorkspaceDocument,
    {"data": {"type": "workspaces", "attributes": {"terraform-version": "1.11.4"}}},
)


def new_draft(document: object) -> WorkspaceDraft:
    """What a create asks for, with every fault of the document."""
    read = Reader(document)
    _, attributes = read.new_resource("workspaces")
    return _draft(read, attributes, id_=None, required=True)


def changed_draft(document: object) -> WorkspaceDraft:
    """What an update asks for; clients may leave out both `id` and `attributes`."""
    read = Reader(document)
    id_, attributes = read.changed_resource("workspaces")
    return _draft(read, attributes, id_=id_, required=False)


def workspace(view: WorkspaceView) -> WorkspaceDocument:
    """The document of one workspace."""
    if view.organization is None:
        return WorkspaceDocument(_resource(view))
    owner = OrganizationView(view.organization, view.level is Level.OWNER)
    return WorkspaceDocument(_resource(view), [organization_documents.resource(owner)])


def workspace_list(
    found: WorkspacePage, includes: frozenset[str], links: paging.PageLinks, meta: paging.PageMeta
) -> WorkspaceListDocument:
    """The document of one page. No organization stands beside no workspace."""
    data = [_resource(one) for one in found.workspaces]
    if ORGANIZATION not in includes:
        return WorkspaceListDocument(data=data, links=links, meta=meta)
    owner = organization_documents.resource(OrganizationView(found.organization, found.is_owner))
    included = [owner] if data else []
    return WorkspaceListDocument(data=data, included=included, links=links, meta=meta)


def workspace_path(workspace: Workspace) -> str:
    """The path of a workspace, by names."""
    return f"/api/v2/organizations/{workspace.organization_name}/workspaces/{workspace.name}"


def _draft(
    read: Reader, attributes: dict[str, object] | None, *, id_: str | None, required: bool
) -> WorkspaceDraft:
    at = "/data/attributes"
    name = read.member(attributes, "name", str, at, required=required)
    mode = read.member(attributes, "execution-mode", str, at, required=False)
    version = read.member(attributes, "terraform-version", str, at, required=False)
    return WorkspaceDraft(id_, name, mode, version, read.faults)


def _resource(view: WorkspaceView) -> WorkspaceResource:
    shown, details = view.workspace, view.details
    settings = details.settings
    organization = Identifier(shown.organization_name, "organizations")
    variables = [Identifier(id_, "vars") for id_ in details.variable_ids]
    return WorkspaceResource(
        id=shown.id,
        type="workspaces",
        attributes=WorkspaceAttributes(
            name=shown.name,
            execution_mode=settings.execution_mode,
            operations=settings.execution_mode is not ExecutionMode.LOCAL,
            terraform_version=settings.terraform_version,
            created_at=timestamp(details.created_at, shown.id),
            locked=details.locked_by is not None,
            variables_count=details.variables_count,
            actions=WorkspaceActions(is_destroyable=view.level is Level.OWNER),
            permissions=_permissions(view.level),
        ),
        relationships=WorkspaceRelationships(
            OrganizationLinkage(organization),
            VariablesLinkage(variables, RelatedLink(f"/api/v2/workspaces/{shown.id}/vars")),
            _lock_holder(shown, details.locked_by),
        ),
        links=WorkspaceLinks(
            workspace_path(shown), f"/app/{shown.organization_name}/workspaces/{shown.name}"
        ),
    )


def _lock_holder(workspace: Workspace, id_: str | None) -> LockHolder | UnsetType:
    if id_ is None:
        return UNSET
    prefix = prefix_of(id_)
    if prefix == "org":  # its own; on the wire its id is its name
        return LockHolder(Identifier(workspace.organization_name, "organizations"))
    return LockHolder(Identifier(id_, f"{prefix}s"))


def _permissions(level: Level) -> WorkspacePermissions:
    writes, owns = level >= Level.WRITE, level is Level.OWNER
    return WorkspacePermissions(
        can_update=owns,
        can_destroy=owns,
        can_force_delete=owns,
        can_read_settings=True,
        can_read_variable=True,
        can_update_variable=writes,
        can_lock=writes,
        can_unlock=writes,
        can_force_unlock=owns,
    )
