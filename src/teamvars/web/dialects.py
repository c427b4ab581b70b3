"""What differs between the ways of speaking the API (contract §1): one object, chosen at start."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from teamvars.domain.variables import Category, Variable
from teamvars.web.http.formats import timestamp

_WITH_CATEGORY = (
    *("NewVariableAttributes", "VariableChanges", "VariableAttributes", "FoundAttributes"),
    *("ItemAttributes", "VariableName", "VariableResult", "FileItem"),
)


class Dialect(msgspec.Struct, frozen=True):
    """`name` is part of every entity tag; the rest is what clients send and see.

    `created_at` gives the attribute of that name, or that there is none; `usernames` says whether
    a linkage object may name a user by username instead of by id. `ignored_includes` are what
    clients ask to have included, and go without, where a route does not know it;
    `deletes_with_variables` says whether an organization that still has some is deleted unasked.
    """

    name: str
    categories: Mapping[Category, str]
    required_to_create: frozenset[str]
    required_to_update: frozenset[str]
    created_at: Callable[[Variable], str | UnsetType]
    usernames: bool
    ignored_includes: frozenset[str]
    deletes_with_variables: bool

    @property
    def has_created_at(self) -> bool:
        """Whether variables have that attribute."""
        return self.created_at is not _unset

    def amend(self, schemas: dict[str, Any]) -> None:
        """Adds to the schemas of documents, by name, what is particular to the dialect."""
        for name in _WITH_CATEGORY:
            schemas[name]["properties"]["category"]["enum"] = list(self.categories.values())
        created, changed = schemas["NewVariableAttributes"], schemas["ChangedVariableResource"]
        created["required"] = sorted(self.required_to_create)
        if "description" not in self.required_to_create:
            created["properties"]["description"]["default"] = ""
        changed["required"] = ["type", *sorted(self.required_to_update)]
        if self.usernames:
            named = schemas["UserIdentifier"]["properties"]["id"]
            named["description"] = "The id or the username of a user."


def _unset(_: Variable) -> UnsetType:
    return UNSET


def _created_at(variable: Variable) -> str:
    return timestamp(variable.created_at, variable.id)


# Of workspaces and organizations, as the clients' own libraries list them: most are of runs, states
# and projects, of which there are none here.
_SENT_BY_CLIENTS = frozenset(
    {
        "current_configuration_version",
        "current_configuration_version.ingress_attributes",
        "current_run",
        "current_run.configuration_version",
        "current_run.configuration_version.ingress_attributes",
        "current_run.plan",
        "current-state-version",
        "default_project",
        "effective_tag_bindings",
        "locked_by",
        "organization",
        "outputs",
        "project",
        "readme",
    }
)

STANDARD = Dialect(
    name="standard",
    categories={Category.TOOL: "tool", Category.ENV: "env"},
    required_to_create=frozenset({"key", "description", "category"}),
    required_to_update=frozenset({"id", "attributes"}),
    created_at=_unset,
    usernames=False,
    ignored_includes=frozenset(),
    deletes_with_variables=False,
)

TERRAFORM = Dialect(
    name="terraform",
    categories={Category.TOOL: "terraform", Category.ENV: "env"},
    required_to_create=frozenset({"key", "category"}),
    required_to_update=frozenset(),
    created_at=_created_at,
    usernames=True,
    ignored_includes=_SENT_BY_CLIENTS,
    deletes_with_variables=True,
)

DIALECTS = {dialect.name: dialect for dialect in (STANDARD, TERRAFORM)}
