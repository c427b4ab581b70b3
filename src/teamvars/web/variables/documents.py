"""The JSON:API documents the service answers with, as msgspec types, and how they are made."""

import hashlib
from collections.abc import Iterable

import msgspec

from teamvars.domain.set_effects import Effects, keys_of
from teamvars.domain.variable_sets import Owner, VariableSet
from teamvars.domain.variables import Variable
from teamvars.web.dialects import Dialect
from teamvars.web.http.resource_objects import Identifier, RelatedLink, SelfLink, Time, timestamp


class OwnAttributes(msgspec.Struct, rename="kebab"):
    """What a variable says itself (contract §4); `value` is null when it is sensitive."""

    key: str
    value: str | None
    description: str
    category: str
    hcl: bool
    sensitive: bool
    version_id: str


class VariableAttributes(OwnAttributes, gc=False):
    """A variable (contract §4); `value` is null when the variable is sensitive.

    `created-at` is the `terraform` dialect's own.
    """

    created_at: Time | msgspec.UnsetType = msgspec.UNSET


class Configurable(msgspec.Struct):
    """The workspace or the variable set that has a variable."""

    data: Identifier
    links: RelatedLink


class VariableRelationships(msgspec.Struct):
    """What has a variable: as `configurable` a workspace, and as `varset` a variable set. Clients
    take whatever is called `configurable` for a workspace.
    """

    configurable: Configurable | msgspec.UnsetType = msgspec.UNSET
    varset: Configurable | msgspec.UnsetType = msgspec.UNSET


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
    """All variables of a workspace or a variable set."""

    data: list[VariableResource]


class Place(msgspec.Struct, frozen=True):
    """Where the variables of an owner are: what they are related to, and the path before their
    ids.
    """

    relationships: VariableRelationships
    path: str


def place_of(owner: Owner) -> Place:
    """That of a workspace or a set."""
    if isinstance(owner, VariableSet):
        return set_place(owner.id)
    organization = f"/api/v2/organizations/{owner.organization_name}"
    related = RelatedLink(f"{organization}/workspaces/{owner.name}")
    configurable = Configurable(Identifier(owner.id, "workspaces"), related)
    return Place(VariableRelationships(configurable), f"/api/v2/workspaces/{owner.id}/vars/")


def set_place(set_id: str) -> Place:
    """That of a set with that id."""
    path = f"/api/v2/varsets/{set_id}"
    owner = Configurable(Identifier(set_id, "varsets"), RelatedLink(path))
    return Place(VariableRelationships(varset=owner), f"{path}/relationships/vars/")


def variables(
    variables: Iterable[Variable], place: Place, dialect: Dialect
) -> list[VariableResource]:
    """The resources of some variables of one owner."""
    categories, has_created_at = dialect.categories, dialect.has_created_at
    related, path = place.relationships, place.path
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
                timestamp(one.created_at, one.id) if has_created_at else msgspec.UNSET,
            ),
            relationships=related,
            links=SelfLink(path + one.id),
        )
        for one in variables
    ]


def entity_tag(version: str, owner: Owner, dialect: Dialect) -> str:
    """The version, a dot, and a short hash of whatever else the document shows (contract §4)."""
    shown = f"{owner.organization_name}/{owner.name}/{dialect.name}"
    return f'"{version}.{hashlib.sha256(shown.encode()).hexdigest()[:8]}"'


class EffectOnWorkspace(msgspec.Struct):
    """What becomes of a workspace: the keys whose values it gets, gets another of, and loses; and
    the names of the approved runners that it is handed to.
    """

    id: str
    name: str
    gains: list[str]
    changes: list[str]
    loses: list[str]
    runners: list[str]


def effect_rows(one: Effects) -> list[EffectOnWorkspace]:
    """What becomes of the workspaces that are told by name."""
    return [
        EffectOnWorkspace(
            each.workspace.id,
            each.workspace.name,
            keys_of(each.gained),
            keys_of(each.changed),
            keys_of(each.lost),
            list(each.runners),
        )
        for each in one.first
    ]
