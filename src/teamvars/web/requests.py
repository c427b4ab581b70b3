"""The JSON:API documents the service takes, as msgspec types.

They are what the OpenAPI document shows. `decoding` reads by hand, to tell all faults at once: of
these it takes only the names and types of a variable's attributes. The rules are in the domain.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.team_members import MAX_ITEMS
from teamvars.domain.variables import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_KEY_CHARACTERS,
    MAX_VALUE_BYTES,
)
from teamvars.web.documents import Identifier

_KEY = Meta(
    min_length=1,
    max_length=MAX_KEY_CHARACTERS,
    pattern=r"^[^\s=\x00-\x1f\x7f-\x9f]+$",
    description="Unique with its category; no white space, control characters or '='.",
)
_VALUE = Meta(
    max_length=MAX_VALUE_BYTES,
    description=f"At most {MAX_VALUE_BYTES} bytes of UTF-8; kept as it is.",
)
_DESCRIPTION = Meta(max_length=MAX_DESCRIPTION_CHARACTERS)
_CATEGORY = Meta(description="A variable of the tool, or an environment variable.")
_HCL = Meta(description="Evaluate the value as configuration-language code.")
_SENSITIVE = Meta(description="Written once and never shown; true is for ever.")


class NewVariableAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a create says about a variable; what has no default is required (contract §4)."""

    key: Annotated[str, _KEY]
    value: Annotated[str, _VALUE] = ""
    description: Annotated[str, _DESCRIPTION]
    category: Annotated[str, _CATEGORY]
    hcl: Annotated[bool, _HCL] = False
    sensitive: Annotated[bool, _SENSITIVE] = False


class VariableChanges(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What an update says about a variable; what is left out stays."""

    key: Annotated[str, _KEY] | UnsetType = UNSET
    value: Annotated[str, _VALUE] | UnsetType = UNSET
    description: Annotated[str, _DESCRIPTION] | UnsetType = UNSET
    category: Annotated[str, _CATEGORY] | UnsetType = UNSET
    hcl: Annotated[bool, _HCL] | UnsetType = UNSET
    sensitive: Annotated[bool, _SENSITIVE] | UnsetType = UNSET


class WorkspaceLinkage(msgspec.Struct):
    """A relationship to the workspace of the path."""

    data: Identifier


class NewVariableRelationships(msgspec.Struct):
    """Either must be the workspace of the path."""

    configurable: WorkspaceLinkage | UnsetType = UNSET
    workspace: WorkspaceLinkage | UnsetType = UNSET


class NewVariableResource(msgspec.Struct):
    """A variable to create; the service assigns its id."""

    type: Literal["vars"]
    attributes: NewVariableAttributes
    relationships: NewVariableRelationships | UnsetType = UNSET


class Named(msgspec.Struct):
    """Something by its name."""

    name: str | UnsetType = UNSET


class DeprecatedFilter(msgspec.Struct):
    """Deprecated, and to be removed: names that the path implies already."""

    workspace: Named | UnsetType = UNSET
    organization: Named | UnsetType = UNSET


class NewVariableDocument(msgspec.Struct):
    """Creates a variable."""

    data: NewVariableResource
    filter: DeprecatedFilter | UnsetType = UNSET


class ChangedVariableResource(msgspec.Struct):
    """A variable to update; `id` is the path's."""

    id: str
    type: Literal["vars"]
    attributes: VariableChanges


class ChangedVariableDocument(msgspec.Struct):
    """Updates a variable."""

    data: ChangedVariableResource


class ValueCheckAttributes(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A value to try, as text or as configuration-language code."""

    value: Annotated[str, _VALUE]
    hcl: Annotated[bool, _HCL] = False


class ValueCheckResource(msgspec.Struct):
    """A value to try."""

    type: Literal["value-checks"]
    attributes: ValueCheckAttributes


class ValueCheckDocument(msgspec.Struct):
    """Tries a value; nothing is stored."""

    data: ValueCheckResource


class UserIdentifier(msgspec.Struct):
    """A user by id."""

    type: Literal["users"]
    id: str


class MembershipIdentifier(msgspec.Struct):
    """A user by organization membership."""

    type: Literal["organization-memberships"]
    id: str


class UsersDocument(msgspec.Struct):
    """Users to add or remove, all or none."""

    data: Annotated[list[UserIdentifier], Meta(max_length=MAX_ITEMS)]


class MembershipsDocument(msgspec.Struct):
    """Organization memberships to add or remove, all or none."""

    data: Annotated[list[MembershipIdentifier], Meta(max_length=MAX_ITEMS)]
