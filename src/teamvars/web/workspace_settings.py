"""The settings of workspaces as attributes."""

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.client_settings import Value
from teamvars.domain.workspace_settings import OWN_MODE, OWN_POOL, SETTINGS
from teamvars.web.client_settings import setting_attribute
from teamvars.web.http.attributes import Attribute, Group

_IN_OBJECTS = (OWN_MODE, OWN_POOL)
_NOT_SHOWN = ("agent-pool-id", "migration-environment")


def _value(view: WorkspaceView, name: str) -> Value:
    return view.details.settings.value(name)


def _attribute(name: str) -> Attribute[WorkspaceView]:
    return setting_attribute(SETTINGS.by_name[name], _value, is_shown=name not in _NOT_SHOWN)


OVERWRITES = Group[WorkspaceView](
    "SettingOverwrites",
    "Which settings are the workspace's own, and not its organization's.",
    *map(_attribute, _IN_OBJECTS),
    given="Which settings are to be the workspace's own, and not its organization's.",
)
PLAIN = [_attribute(name) for name in SETTINGS.by_name if name not in _IN_OBJECTS]
"""The settings that stand in no object."""
