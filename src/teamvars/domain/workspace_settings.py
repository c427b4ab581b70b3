"""What describes a workspace to its clients: which settings there are, and their defaults."""

from teamvars.domain.client_settings import Setting, Settings, Values
from teamvars.domain.errors import Fault, invalid

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


def faults(said: Values) -> list[Fault]:
    """What is wrong with the settings that a request names."""
    found = SETTINGS.faults(said)
    if said.get(PREFIXES) and said.get(PATTERNS):
        found.append(invalid(PATTERNS, "A workspace has prefixes or patterns, and not both."))
    return found


def contradictions(values: Values, said: Values) -> list[Fault]:
    """The fault of patterns where no file triggers a run, if that is what a request asks for."""
    after = changed(values, said)
    if SETTINGS.value(after, TRIGGERS) or not SETTINGS.value(after, PATTERNS):
        return []
    named = [name for name in (PATTERNS, TRIGGERS) if name in said]
    return [invalid(name, _NO_PATTERNS) for name in named[:1]]


def changed(values: Values, said: Values) -> Values:
    """The values after a request without faults, those of them that are no defaults.

    Prefixes take the place of patterns, and patterns that of prefixes, be they none.
    """
    if PREFIXES in said or PATTERNS in said:
        said = {PREFIXES: (), PATTERNS: (), **said}
    return SETTINGS.changed(values, said)
