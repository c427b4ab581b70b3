"""The JSON:API documents the service answers with, as msgspec types, and how they are made."""

from collections.abc import Sequence

import msgspec

from teamvars.domain.variables import Variable
from teamvars.domain.workspaces import Workspace
from teamvars.web.dialects import Dialect
from teamvars.web.http.formats import Time
from teamvars.web.http.resource_objects import Identifier, RelatedLink, SelfLink
from teamvars.web.workspaces.documents import workspace_path


class VariableAttributes(msgspec.Struct, rename="kebab", gc=False):
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


class Configurable(msgspec.Struct):
    """The workspace that owns a variable."""

    data: Identifier
    links: RelatedLink


class VariableRelationships(msgspec.Struct):
    """A variable's one relationship."""

    configurable: Configurable


class VariableResource(msgspec.Struct, gc=False):
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


def variable_path(variable: Variable) -> str:
    """`links.self` of a variable."""
    return _variables_path(variable.workspace_id) + variable.id


def variable(variable: Variable, workspace: Workspace, dialect: Dialect) -> VariableDocument:
    """The document of one variable."""
    return VariableDocument(variables([variable], workspace, dialect)[0])


def variables(
    variables: Sequence[Variable], workspace: Workspace, dialect: Dialect
) -> list[VariableResource]:
    """The resources of some of a workspace's variables."""
    owner = Identifier(workspace.id, "workspaces")
    related = RelatedLink(workspace_path(workspace))
    configurable = VariableRelationships(Configurable(owner, related))
    categories, created_at = dialect.categories, dialect.created_at
    path = _variables_path(workspace.id)
    return [
        VariableResource(
            id=one.id,
            type="vars",
            attributes=VariableAttributes(
                one.key,
                one.value,
                one.description,
                categories[one.category],
                one.hcl,
                one.sensitive,
                one.version_id,
                created_at(one),
            ),
            relationships=configurable,
            links=SelfLink(path + one.id),
        )
        for one in variables
    ]


def _variables_path(workspace_id: str) -> str:
    return f"/api/v2/workspaces/{workspace_id}/vars/"
