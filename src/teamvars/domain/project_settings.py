"""What describes a project to its clients: which settings there are, and their defaults."""

from teamvars.domain.client_settings import NO_AGENTS, Setting, Settings, Values
from teamvars.domain.organization_settings import DEFAULT_MODE

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


def changed(values: Values, said: Values) -> Values:
    """The values after a request without faults, those of them that are no defaults.

    Whoever names a mode has it as the project's own, unless they say otherwise; a mode that is no
    longer its own is forgotten.
    """
    if DEFAULT_MODE in said:
        said = {OWN_MODE: True, OWN_POOL: True, **said}
    after = SETTINGS.changed(values, said)
    is_own = SETTINGS.value(after, OWN_MODE)
    return after if is_own else {name: one for name, one in after.items() if name != DEFAULT_MODE}
