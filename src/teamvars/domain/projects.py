"""Projects: each workspace of an organization is in one of them."""

import msgspec
from msgspec.structs import replace

from teamvars.domain import project_settings
from teamvars.domain.client_settings import Value, Values
from teamvars.domain.errors import Fault, other_id
from teamvars.domain.names import project_name_faults
from teamvars.domain.project_settings import SETTINGS
from teamvars.domain.tags import TagsDraft

DEFAULT_NAME = "Default Project"
PREFIX = "prj"
"""Of the ids of projects."""


def default_project_of(organization_id: str) -> str:
    """The id of the project that every organization has, which follows from its own."""
    return f"{PREFIX}-{organization_id[4:]}"


class Project(msgspec.Struct, frozen=True):
    """A project of an organization. `created_at` in µs UTC.

    `settings` are those of `SETTINGS` that are no defaults, by name.
    """

    id: str
    organization_id: str
    name: str
    created_at: int
    settings: Values = {}

    @property
    def is_default(self) -> bool:
        """Whether workspaces are in it that nobody has put anywhere; it stays."""
        return self.id == default_project_of(self.organization_id)

    def value(self, name: str) -> Value:
        """One of its settings."""
        return SETTINGS.value(self.settings, name)


def default_project(organization_id: str, made: int) -> Project:
    """The project that every organization has, as it is until somebody changes it."""
    return Project(default_project_of(organization_id), organization_id, DEFAULT_NAME, made)


class ProjectSearch(msgspec.Struct, frozen=True):
    """Which projects are wanted: those with one of the names, with a part of the name, and with all
    of the `bindings`: a key, and unless that is None its value.

    `is_reversed`: from the last name.
    """

    names: tuple[str, ...] | None = None
    part: str | None = None
    bindings: tuple[tuple[str, str | None], ...] = ()
    is_reversed: bool = False


class ProjectDraft(msgspec.Struct, frozen=True):
    """What a request says of a project; None where it says nothing usable.

    `id` is that of the document, when it has one. `settings` are those of `SETTINGS` that it names.
    """

    id: str | None = None
    name: str | None = None
    settings: Values = {}
    tags: TagsDraft = TagsDraft()
    faults: tuple[Fault, ...] = ()

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        rules = [*project_name_faults(self.name), *SETTINGS.faults(self.settings)]
        return [*self.faults, *rules, *self.tags.all_faults()]

    def conflicts(self, project: Project) -> list[Fault]:
        """A fault when the document is about another project than the path."""
        return other_id(self.id, project.id, "project")

    def applied_to(self, project: Project) -> Project:
        """The project as a draft without faults makes it."""
        return replace(
            project,
            name=project.name if self.name is None else self.name,
            settings=project_settings.changed(project.settings, self.settings),
        )
