"""What differs between the ways of speaking the API (contract §1): one object, chosen at start."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from teamvars.kernel.variables import Category

_WITH_CATEGORY = (
    *("NewVariableAttributes", "VariableChanges", "VariableAttributes", "FoundAttributes"),
    *("ItemAttributes", "VariableName", "VariableResult", "FileItem", "EffectiveAttributes"),
)


class Dialect(msgspec.Struct, frozen=True, dict=True):
    """`name` is part of every entity tag; the rest is what clients send and see.

    `has_created_at` says whether variables show when they were made; `usernames`, whether a
    linkage object may name a user by username instead of by id. `ignored_includes` are what
    clients ask to have included, and go without, where a route does not know it;
    `deletes_with_variables` says whether an organization that still has some is deleted unasked,
    and `puts`, whether it is updated by PUT as well. `types` are those that documents may have as
    well, by operation; None: none. `made_team` is the status of a team that was made.
    """

    name: str
    categories: Mapping[Category, str]
    required_to_create: frozenset[str]
    required_to_update: frozenset[str]
    has_created_at: bool
    usernames: bool
    ignored_includes: frozenset[str]
    deletes_with_variables: bool
    puts: bool
    types: Mapping[str, Sequence[str | None]]
    made_team: int

    @cached_property
    def words(self) -> Mapping[str, Category]:
        """The categories by what they are called."""
        return {word: category for category, word in self.categories.items()}

    def amend(self, schemas: dict[str, Any]) -> None:
        """Adds to the schemas of documents, by name, what is particular to the dialect."""
        for name in _WITH_CATEGORY:
            schemas[name]["properties"]["category"]["enum"] = list(self.categories.values())
        created, changed = schemas["NewVariableAttributes"], schemas["ChangedVariableResource"]
        created["required"] = sorted(self.required_to_create)
        if "description" not in self.required_to_create:
            created["properties"]["description"]["default"] = ""
        changed["required"] = ["type", *sorted(self.required_to_update)]
        schemas["ChangedItem"]["required"] = sorted({"id", "type", *self.required_to_update})
        if "createTeam" in self.types and "NewTeamResource" in schemas:
            also = [*self.types["createTeam"], "teams"]
            schemas["NewTeamResource"]["properties"]["type"] = {"type": "string", "enum": also}
        for noun in ("TeamWorkspace", "TeamProject"):
            if f"update{noun}" in self.types and f"Changed{noun}Resource" in schemas:
                schemas[f"Changed{noun}Resource"]["required"].remove("type")
        if self.usernames:
            named = schemas["UserIdentifier"]["properties"]["id"]
            named["description"] = "The id or the username of a user."


# Of workspaces, organizations and sets, as the clients' own libraries list them: most are of runs,
# states and projects, of which there are none here.
_SENT_BY_CLIENTS = frozenset(
    {
        "current_configuration_version",
        "current_configuration_version.ingress_attributes",
        "current_run",
        "current_run.configuration_version",
        "current_run.configuration_version.ingress_attributes",
        "current_run.plan",
        "current-state-version",
        "default-project",
        "default_project",
        "effective_tag_bindings",
        "entitlement_set",
        "locked_by",
        "organization",
        "outputs",
        "project",
        "projects",
        "readme",
        "stacks",
        "subscription",
        "vars",
        "workspaces",
    }
)

STANDARD = Dialect(
    name="standard",
    categories={Category.TOOL: "tool", Category.ENV: "env"},
    required_to_create=frozenset({"key", "description", "category"}),
    required_to_update=frozenset({"id", "attributes"}),
    has_created_at=False,
    usernames=False,
    ignored_includes=frozenset(),
    deletes_with_variables=False,
    puts=False,
    types={},
    made_team=201,
)

TERRAFORM = Dialect(
    name="terraform",
    categories={Category.TOOL: "terraform", Category.ENV: "env"},
    required_to_create=frozenset({"key", "category"}),
    required_to_update=frozenset(),
    has_created_at=True,
    usernames=True,
    ignored_includes=_SENT_BY_CLIENTS,
    deletes_with_variables=True,
    puts=True,
    types={
        "createTeam": ("organizations",),
        "updateTeamWorkspace": (None,),
        "updateTeamProject": (None,),
    },
    made_team=200,
)

DIALECTS = {dialect.name: dialect for dialect in (STANDARD, TERRAFORM)}
