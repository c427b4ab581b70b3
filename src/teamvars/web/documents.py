"""The JSON:API documents the service answers with, as msgspec types, and how they are made."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.team_members import LinkageType
from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.web.dialects import Dialect
from teamvars.web.formats import Path, Time


class VariableAttributes(msgspec.Struct, rename="kebab"):
    """A variable (contract §4); `value` is null when the variable is sensitive.

    `created-at` is the `terraform` dialect's own.
    """

    key: str
    value: str | None
    description: str
    category: str
    hcl: bool
    sensitive: bool
    version_id: str
    created_at: Time | msgspec.UnsetType = msgspec.UNSET


class Identifier(msgspec.Struct):
    """A resource identifier object."""

    id: str
    type: str


class RelatedLink(msgspec.Struct):
    """The path of a related resource."""

    related: Path


class SelfLink(msgspec.Struct):
    """The path of the resource itself."""

    self: Path


class Configurable(msgspec.Struct):
    """The workspace that owns a variable."""

    data: Identifier
    links: RelatedLink


class VariableRelationships(msgspec.Struct):
    """A variable's one relationship."""

    configurable: Configurable


class VariableResource(msgspec.Struct):
    """A variable."""

    id: str
    type: str
    attributes: VariableAttributes
    relationships: VariableRelationships
    links: SelfLink


class VariableDocument(msgspec.Struct):
    """One variable."""

    data: VariableResource


class VariableListDocument(msgspec.Struct):
    """All variables of a workspace."""

    data: list[VariableResource]


class LinkageDocument(msgspec.Struct):
    """The members of a team."""

    data: list[Identifier]


def variable_path(variable: Variable) -> str:
    """`links.self` of a variable."""
    return f"/api/v2/workspaces/{variable.workspace_id}/vars/{variable.id}"


def variable(variable: Variable, workspace: Workspace, dialect: Dialect) -> VariableDocument:
    """The document of one variable."""
    return VariableDocument(_variable(variable, _configurable(workspace), dialect))


def variables(
    variables: Sequence[Variable], workspace: Workspace, dialect: Dialect
) -> list[VariableResource]:
    """The resources of some of a workspace's variables."""
    configurable = _configurable(workspace)
    return [_variable(one, configurable, dialect) for one in variables]


def linkage(ids: Sequence[str], type_: LinkageType) -> LinkageDocument:
    """The document of a team's members."""
    return LinkageDocument([Identifier(id_, type_) for id_ in ids])


def workspace_path(workspace: Workspace) -> str:
    """The path of a workspace, by names."""
    return f"/api/v2/organizations/{workspace.organization_name}/workspaces/{workspace.name}"


def _variable(
    variable: Variable, configurable: VariableRelationships, dialect: Dialect
) -> VariableResource:
    return VariableResource(
        id=variable.id,
        type="vars",
        attributes=VariableAttributes(
            key=variable.key,
            value=variable.value,
            description=variable.description,
            category=dialect.categories[variable.category],
            hcl=variable.hcl,
            sensitive=variable.sensitive,
            version_id=variable.version_id,
            created_at=dialect.created_at(variable),
        ),
        relationships=configurable,
        links=SelfLink(variable_path(variable)),
    )


def _configurable(workspace: Workspace) -> VariableRelationships:
    owner = Identifier(workspace.id, "workspaces")
    return VariableRelationships(Configurable(owner, RelatedLink(workspace_path(workspace))))
