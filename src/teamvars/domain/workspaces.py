"""Workspaces: what has variables, what it may hold, and what clients of its API ask about it: which
settings there are, and their defaults.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from teamvars.domain import organizations, projects
from teamvars.domain.client_settings import NO_AGENTS, Setting, Settings, Value, Values
from teamvars.domain.errors import Code, Fault, invalid, not_offered, other_id, unknown_word
from teamvars.domain.linked import ResourceDraft
from teamvars.domain.names import fold, name_faults
from teamvars.domain.organizations import DEFAULT_MODE
from teamvars.domain.projects import Project, default_project_of
from teamvars.domain.tags import Tags, TagsDraft

_VERSION = r"v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?"
_CONSTRAINT = rf" *((~>|[<>!]=|[<>=]) *)?{_VERSION} *"
TERRAFORM_VERSION = re.compile(rf"latest|{_CONSTRAINT}(,{_CONSTRAINT})*")
"""A version, constraints on one, or the latest."""
MAX_VERSION_CHARACTERS = 64

PREFIXES, PATTERNS = "trigger-prefixes", "trigger-patterns"
TRIGGERS = "file-triggers-enabled"
OWN_MODE, OWN_POOL = "setting-overwrites/execution-mode", "setting-overwrites/agent-pool"

# In the words that the tfe provider's users know.
_NO_PATTERNS = (
    "'trigger_patterns' cannot be populated when 'file_triggers_enabled' is set to false."
)
_NO_RUNS = "Nothing runs here, so nothing would happen then."

SETTINGS = Settings(
    Setting("description", "", "What the workspace is for.", has_lines=True),
    Setting("allow-destroy-plan", True, "Whether a run may destroy everything."),
    Setting("auto-apply", False, "Whether a plan that succeeds is applied."),
    Setting("auto-apply-run-trigger", False, "The same of runs that others trigger."),
    Setting(TRIGGERS, True, "Whether only some files trigger a run."),
    Setting(PREFIXES, (), "Paths whose files trigger a run; there are no patterns then."),
    Setting(PATTERNS, (), "Patterns of files that trigger a run; no prefixes then."),
    Setting("working-directory", "", "The path in which a run works."),
    Setting("queue-all-runs", True, "Whether runs are queued from the beginning.", new=False),
    Setting("speculative-enabled", True, "Whether there are speculative plans."),
    Setting("structured-run-output-enabled", True, "Whether runs are shown as structures."),
    Setting("global-remote-state", False, "Whether all workspaces may read its state."),
    Setting("project-remote-state", False, "Whether those of its project may read it."),
    Setting("source-name", "", "What made the workspace."),
    Setting("source-url", "", "Where more is said of what made it.", is_url=True),
    Setting(OWN_MODE, True, "Whether the execution mode is its own.", new=False),
    Setting(OWN_POOL, True, "Whether the agent pool is its own.", new=False),
    Setting("assessments-enabled", False, "There are no assessments.", not_offered=_NO_RUNS),
    Setting("auto-destroy-at", "", "Nothing is destroyed.", not_offered=_NO_RUNS),
    Setting("auto-destroy-activity-duration", "", "Nothing is destroyed.", not_offered=_NO_RUNS),
    Setting(
        "inherits-project-auto-destroy",
        False,
        "Nothing is destroyed.",
        not_offered=_NO_RUNS,
    ),
    Setting(
        "hyok-enabled",
        False,
        "There are no keys of an organization's own.",
        not_offered="An organization has no key of its own here.",
    ),
    Setting(
        "agent-pool-id",
        "",
        "There are no agent pools.",
        not_offered="There are no agent pools here.",
    ),
    Setting(
        "vcs-repo",
        "",
        "There are no repositories.",
        not_offered="There are no connections to repositories here.",
        is_object=True,
    ),
    Setting(
        "migration-environment",
        "",
        "There is nothing to migrate.",
        not_offered="Nothing is migrated here.",
    ),
)


class Workspace(msgspec.Struct, frozen=True):
    """A workspace and the organization that owns it."""

    id: str
    name: str
    organization_id: str
    organization_name: str


class ByNames(msgspec.Struct, frozen=True):
    """A workspace as its organization's name and its own say which."""

    organization: str
    workspace: str


Address = str | ByNames
"""Which workspace: by id or by names."""


class ExecutionMode(StrEnum):
    """Where a client is told to run. Nothing runs here, whichever it is."""

    REMOTE = "remote"
    LOCAL = "local"
    AGENT = "agent"


def default_mode(of_organization: Values, of_project: Values) -> ExecutionMode:
    """The mode of the workspaces of an organization and a project with these settings that have
    none: the project's if it has one of its own.
    """
    is_own = projects.SETTINGS.value(of_project, projects.OWN_MODE)
    settings = projects.SETTINGS if is_own else organizations.SETTINGS
    values = of_project if is_own else of_organization
    return ExecutionMode(str(settings.value(values, DEFAULT_MODE)))


class WorkspaceSettings(msgspec.Struct, frozen=True):
    """What owners set for the clients of a workspace, besides its name.

    `own_mode` counts where the setting `OWN_MODE` says so, and else the `default_mode`, which is
    that of its project or organization. `others` are those of `SETTINGS` that are no defaults, by
    name.
    """

    own_mode: ExecutionMode = ExecutionMode.REMOTE
    terraform_version: str = "latest"
    others: Values = {}
    default_mode: ExecutionMode = ExecutionMode.REMOTE

    @property
    def mode(self) -> ExecutionMode:
        """Where its clients are told to run."""
        return self.own_mode if self.value(OWN_MODE) else self.default_mode

    def value(self, name: str) -> Value:
        """One of the others."""
        return SETTINGS.value(self.others, name)

    def changed_from(self, former: "WorkspaceSettings") -> list[str]:
        """The names of the others that are not as they were, by name."""
        return SETTINGS.differing(former.others, self.others)


class WorkspaceRecord(msgspec.Struct, frozen=True):
    """All that is stored of a workspace itself. `locked_by` is the id of who locked it, and
    `project_id` that of the project it was put into; None: it is in the default one.
    """

    workspace: Workspace
    settings: WorkspaceSettings = WorkspaceSettings()
    locked_by: str | None = None
    tags: Tags = Tags()
    project_id: str | None = None

    @property
    def in_project(self) -> str:
        """The id of the project that it is in."""
        return self.project_id or default_project_of(self.workspace.organization_id)

    def put_into(self, project: Project) -> "WorkspaceRecord":
        """The same in another project."""
        return replace(self, project_id=None if project.is_default else project.id)


class WorkspaceDetails(msgspec.Struct, frozen=True):
    """What variables do not need of a workspace. `locked_by` and `project_id` are as in its record,
    and `inherited` are the bindings of its project.

    `variable_ids` are of all its variables, newest first, or None where a list would have too many,
    and `variables_count` says how many they are. `created_at` in µs UTC.
    """

    settings: WorkspaceSettings
    locked_by: str | None
    created_at: int
    variable_ids: Sequence[str] | None
    variables_count: int
    tags: Tags = Tags()
    project_id: str | None = None
    inherited: Mapping[str, str] = {}


class WorkspaceSearch(msgspec.Struct, frozen=True):
    """Which workspaces are wanted: by a part of the name, and by the whole of it.

    In the whole name, `*` stands for any characters or none. Capitals do not count.

    They have all of the `tags`, none of those they are `without`, which are names or keys, and all
    of the `bindings`: a key, and unless that is None its value. They are in the project with the id
    `project_id`. `is_reversed`: from the last name.
    """

    part: str = ""
    wildcard: str = "*"
    tags: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    bindings: tuple[tuple[str, str | None], ...] = ()
    project_id: str | None = None
    is_reversed: bool = False


class WorkspaceDraft(ResourceDraft, frozen=True):
    """What a request says of a workspace; None where it says nothing usable.

    `operations` is what clients said before there were modes. `settings` are those of `SETTINGS`
    that it names. It is to be in the project with the `project_id`; None: in the default one.
    """

    name: str | None = None
    execution_mode: str | None = None
    operations: bool | None = None
    terraform_version: str | None = None
    settings: Values = msgspec.field(default_factory=dict)
    tags: TagsDraft = TagsDraft()
    project_id: str | UnsetType | None = UNSET

    def all_faults(self) -> list[Fault]:
        """Those of the document, and every rule it breaks."""
        rules = [*name_faults(self.name), *self._setting_faults(), *self.tags.all_faults()]
        return [*self.faults, *rules]

    def conflicts(self, workspace: Workspace) -> list[Fault]:
        """A fault when the document is about another workspace than the path."""
        return other_id(self.id, workspace.id, "workspace")

    def mode_faults(self, default: ExecutionMode) -> list[Fault]:
        """A fault when it names a mode, and says that the default counts, which is another.

        Of a mode that is none it says nothing.
        """
        if self.settings.get(OWN_MODE, True) or self.execution_mode not in (None, *ExecutionMode):
            return []
        if self._mode() in (None, default):
            return []
        detail = f"By 'setting-overwrites' the mode is the default, which is '{default.value}'."
        return [invalid("execution-mode" if self.execution_mode else "operations", detail)]

    def trigger_faults(self, former: WorkspaceSettings) -> list[Fault]:
        """A fault when it leaves patterns of files where no file triggers anything."""
        return trigger_faults(former.others, self.settings)

    def new_settings(self, default: ExecutionMode) -> WorkspaceSettings:
        """The settings of a workspace that a draft without faults makes, where that is the default
        mode.
        """
        return self.applied_to(WorkspaceSettings(others=SETTINGS.of_new(), default_mode=default))

    def applied_to(self, settings: WorkspaceSettings) -> WorkspaceSettings:
        """The settings as a draft without faults makes them.

        Whoever names a mode has it as the workspace's own, unless they say otherwise; one that
        becomes its own without being named is the one that counted so far.
        """
        said, mode = self.settings, self._mode()
        if mode is not None:
            said = {OWN_MODE: True, OWN_POOL: True, **said}
        if said.get(OWN_MODE):
            settings = replace(settings, own_mode=mode or settings.mode)
        if self.terraform_version is not None:
            settings = replace(settings, terraform_version=self.terraform_version)
        return replace(settings, others=changed_settings(settings.others, said))

    def _mode(self) -> ExecutionMode | None:
        if self.execution_mode is not None:
            return ExecutionMode(self.execution_mode)
        if self.operations is None:
            return None
        return ExecutionMode.REMOTE if self.operations else ExecutionMode.LOCAL

    def _setting_faults(self) -> list[Fault]:
        mode, version = self.execution_mode, self.terraform_version
        faults = unknown_word("execution-mode", mode, list(ExecutionMode), "An execution mode")
        if mode == ExecutionMode.AGENT:
            faults.append(not_offered("execution-mode", NO_AGENTS))
        if None not in (mode, self.operations) and self.operations != (mode != "local"):
            faults.append(invalid("operations", "This contradicts the execution mode."))
        if version is not None and not is_terraform_version(version):
            detail = (
                "This must be a version, a constraint on one as in '~> 1.5', or 'latest', in "
                f"{MAX_VERSION_CHARACTERS} characters at most."
            )
            faults.append(invalid("terraform-version", detail))
        return faults + setting_faults(self.settings)


class Usage(msgspec.Struct, frozen=True):
    """What a workspace or a set holds: how many variables, and how many bytes of values."""

    variables: int = 0
    value_bytes: int = 0

    def plus(self, variables: int, value_bytes: int) -> "Usage":
        """The usage after a change; both numbers may be negative.

        It is never less than nothing, also where rows are there that were not counted.
        """
        return Usage(max(self.variables + variables, 0), max(self.value_bytes + value_bytes, 0))


class Quota(msgspec.Struct, frozen=True):
    """The most a workspace or a set may hold; None is no limit (`TEAMVARS_MAX_VARIABLES=0` lifts
    both of a workspace).
    """

    variables: int | None
    value_bytes: int | None
    code: Code = Code.WORKSPACE_FULL
    noun: str = "workspace"

    def faults(self, before: Usage, after: Usage) -> list[Fault]:
        """A fault when the change makes it fuller than it may be.

        One that is too full already, because the limit was lowered, may still shrink.
        """
        limits = (
            (self.variables, before.variables, after.variables, "variables"),
            (self.value_bytes, before.value_bytes, after.value_bytes, "bytes of values"),
        )
        return [
            Fault(self.code, f"A {self.noun} holds at most {most} {what}.", pointer="/data")
            for most, was, will_be, what in limits
            if most is not None and will_be > most and will_be > was
        ]


def is_terraform_version(text: str) -> bool:
    """Whether it says which versions of terraform a workspace is for."""
    is_short = len(text) <= MAX_VERSION_CHARACTERS
    return is_short and TERRAFORM_VERSION.fullmatch(text) is not None


class WorkspaceFilter(msgspec.Struct, frozen=True):
    """The deprecated `filter.*` of a create: names the workspace must have (contract §4)."""

    workspace_name: str | None = None
    organization_name: str | None = None

    def faults(self, workspace: Workspace) -> list[Fault]:
        """A fault for each name that the workspace of the variable does not have."""
        named = {
            "workspace": (self.workspace_name, workspace.name),
            "organization": (self.organization_name, workspace.organization_name),
        }
        return [
            Fault(
                Code.INVALID_VALUE,
                f"This is not the name of the variable's {noun}.",
                pointer=f"/filter/{noun}/name",
            )
            for noun, (given, actual) in named.items()
            if given is not None and fold(given) != fold(actual)
        ]


def setting_faults(said: Values) -> list[Fault]:
    """What is wrong with the settings that a request names."""
    found = SETTINGS.faults(said)
    if said.get(PREFIXES) and said.get(PATTERNS):
        found.append(invalid(PATTERNS, "A workspace has prefixes or patterns, and not both."))
    return found


def trigger_faults(values: Values, said: Values) -> list[Fault]:
    """The fault of patterns where no file triggers a run, if that is what a request asks for."""
    after = changed_settings(values, said)
    if SETTINGS.value(after, TRIGGERS) or not SETTINGS.value(after, PATTERNS):
        return []
    named = [name for name in (PATTERNS, TRIGGERS) if name in said]
    return [invalid(name, _NO_PATTERNS) for name in named[:1]]


def changed_settings(values: Values, said: Values) -> Values:
    """The values after a request without faults, those of them that are no defaults.

    Prefixes take the place of patterns, and patterns that of prefixes, be they none.
    """
    if PREFIXES in said or PATTERNS in said:
        said = {PREFIXES: (), PATTERNS: (), **said}
    return SETTINGS.changed(values, said)
