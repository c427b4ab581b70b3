"""Projects: each workspace of an organization is in one of them; and what describes them to their
clients.
"""

import msgspec
from msgspec.structs import replace

from teamvars.domain.client_settings import NO_AGENTS, Setting, Settings, Value, Values
from teamvars.domain.errors import Fault, other_id
from teamvars.domain.linked import ResourceDraft
from teamvars.domain.names import project_name_faults
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.tags import TagsDraft

DEFAULT_NAME = "Default Project"
PREFIX = "prj"
"""Of the ids of projects."""
OWN_MODE = "setting-overwrites/default-execution-mode"
OWN_POOL = "setting-overwrites/default-agent-pool"

SETTINGS = Settings(
    Setting("description", "", "What the project is for.", has_lines=True),
    Setting(
        DEFAULT_MODE,
        "remote",
        "Where clients of its workspaces run that have no mode of their own.",
        words={"remote": "", "local": "", "agent": NO_AGENTS},
    ),
    Setting(OWN_MODE, False, "Whether the mode is its own, and not its organization's."),
    Setting(OWN_POOL, False, "Whether the agent pool is its own."),
    Setting(
        "auto-destroy-activity-duration",
        "",
        "Nothing is destroyed.",
        not_offered="Nothing runs here, so nothing would happen then.",
    ),
    Setting(
        "default-agent-pool-id",
        "",
        "There are no agent pools.",
        not_offered="There are no agent pools here.",
    ),
)


def changed_settings(values: Values, said: Values) -> Values:
    """The values after a request without faults, those of them that are no defaults.

    Whoever names a mode has it as the project's own, unless they say otherwise; a mode that is no
    longer its own is forgotten.
    """
    if DEFAULT_MODE in said:
        said = {OWN_MODE: True, OWN_POOL: True, **said}
    after = SETTINGS.changed(values, said)
    is_own = SETTINGS.value(after, OWN_MODE)
    return after if is_own else {name: one for name, one in after.items() if name != DEFAULT_MODE}


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


class ProjectDraft(ResourceDraft, frozen=True):
    """What a request says of a project; None where it says nothing usable.

    `settings` are those of `SETTINGS` that it names.
    """

    name: str | None = None
    settings: Values = msgspec.field(default_factory=dict)
    tags: TagsDraft = TagsDraft()

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
            settings=changed_settings(project.settings, self.settings),
        )
