"""What describes a workspace to its clients: which settings there are, and what each may be.

Nothing here acts on them. What only describes is kept and shown. What would promise something that
does not happen here is offered with its default alone.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from teamvars.domain.errors import Fault, invalid, not_offered
from teamvars.domain.names import is_safe

Value = bool | str | tuple[str, ...]
Values = Mapping[str, Value]
"""By name, of the settings that have another value than their default."""

MAX_CHARACTERS = 1024
MAX_PATHS = 100
PREFIXES, PATTERNS = "trigger-prefixes", "trigger-patterns"
OWN_MODE, OWN_POOL = "setting-overwrites/execution-mode", "setting-overwrites/agent-pool"

URL = re.compile(r"https?://[^\s/][^\s]*")
_NO_RUNS = "Nothing runs here, so nothing would happen then."


class Setting(msgspec.Struct, frozen=True):
    """A setting by its name on the wire; in an object it stands after that one's name and a slash.

    A workspace about which nothing was said has the `default`, and one that a request makes has
    `new` where that is another. `not_offered`: why there is no other value than the default.
    """

    name: str
    default: Value
    text: str
    new: Value | None = None
    not_offered: str = ""
    has_lines: bool = False
    is_url: bool = False
    is_object: bool = False

    @property
    def of_new(self) -> Value:
        """What a create means that does not name it."""
        return self.default if self.new is None else self.new

    def faults(self, value: Value) -> list[Fault]:
        """What is wrong with a value of the setting's type."""
        if self.not_offered:
            return [not_offered(self.name, self.not_offered)] if value else []
        if isinstance(value, bool):
            return []
        if isinstance(value, str):
            return self._text_faults(self.name, value)
        if len(value) > MAX_PATHS:
            return [invalid(self.name, f"There are at most {MAX_PATHS} of them.")]
        named = ((f"{self.name}/{at}", text) for at, text in enumerate(value))
        return [fault for name, text in named for fault in self._text_faults(name, text)]

    def _text_faults(self, name: str, text: str) -> list[Fault]:
        if len(text) > MAX_CHARACTERS:
            return [invalid(name, f"This has at most {MAX_CHARACTERS} characters.")]
        if not (self.has_lines or is_safe(text)):
            return [invalid(name, "This is one line, without control or format characters.")]
        if self.is_url and text and URL.fullmatch(text) is None:
            return [invalid(name, "This must be a URL that begins with http:// or https://.")]
        return []


SETTINGS: Mapping[str, Setting] = {
    one.name: one
    for one in (
        Setting("description", "", "What the workspace is for.", has_lines=True),
        Setting("allow-destroy-plan", True, "Whether a run may destroy everything."),
        Setting("auto-apply", False, "Whether a plan that succeeds is applied."),
        Setting("auto-apply-run-trigger", False, "The same of runs that others trigger."),
        Setting("file-triggers-enabled", True, "Whether only some files trigger a run."),
        Setting(PREFIXES, (), "Paths whose files trigger a run; there are no patterns then."),
        Setting(PATTERNS, (), "Patterns of files that trigger a run; no prefixes then."),
        Setting("working-directory", "", "The path in which a run works."),
        Setting("queue-all-runs", True, "Whether runs are queued from the beginning.", new=False),
        Setting("speculative-enabled", True, "Whether there are speculative plans."),
        Setting("structured-run-output-enabled", True, "Whether runs are shown as structures."),
        Setting("global-remote-state", True, "Whether all workspaces may read its state."),
        Setting("project-remote-state", False, "Whether those of its project may read it."),
        Setting("source-name", "", "What made the workspace."),
        Setting("source-url", "", "Where more is said of what made it.", is_url=True),
        Setting(OWN_MODE, True, "Whether the execution mode is its own.", new=False),
        Setting(OWN_POOL, True, "Whether the agent pool is its own.", new=False),
        Setting("assessments-enabled", False, "There are no assessments.", not_offered=_NO_RUNS),
        Setting("auto-destroy-at", "", "Nothing is destroyed.", not_offered=_NO_RUNS),
        Setting(
            "auto-destroy-activity-duration", "", "Nothing is destroyed.", not_offered=_NO_RUNS
        ),
        Setting(
            "inherits-project-auto-destroy",
            False,
            "There are no projects.",
            not_offered="There are no projects here.",
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
}
"""By name."""


def faults(said: Values) -> list[Fault]:
    """What is wrong with the settings that a request names."""
    found = [fault for name, value in said.items() for fault in SETTINGS[name].faults(value)]
    if said.get(PREFIXES) and said.get(PATTERNS):
        found.append(invalid(PATTERNS, "A workspace has prefixes or patterns, and not both."))
    return found


def changed(values: Values, said: Values) -> Values:
    """The values after a request without faults, those of them that are no defaults.

    Prefixes take the place of patterns, and patterns that of prefixes.
    """
    if said.get(PREFIXES):
        said = {**said, PATTERNS: ()}
    elif said.get(PATTERNS):
        said = {**said, PREFIXES: ()}
    merged = {**values, **said}
    return {name: merged[name] for name in sorted(merged) if merged[name] != _default(name)}


def known(members: Mapping[str, Any]) -> Values:
    """Those members of a JSON object that are values of settings."""
    values = {name: tuple(one) if isinstance(one, list) else one for name, one in members.items()}
    return {
        name: value
        for name, value in values.items()
        if name in SETTINGS and type(value) is type(SETTINGS[name].default)
    }


def _default(name: str) -> Value:
    return SETTINGS[name].default
