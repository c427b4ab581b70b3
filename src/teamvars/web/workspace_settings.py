"""The settings of workspaces as attributes, made of the table of the domain."""

from types import NoneType
from typing import Annotated, Any

from msgspec import Meta

from teamvars.decisions.workspaces import WorkspaceView
from teamvars.domain.workspace_settings import (
    MAX_CHARACTERS,
    MAX_PATHS,
    OWN_MODE,
    OWN_POOL,
    SETTINGS,
    URL,
    Setting,
    Value,
)
from teamvars.domain.workspaces import WorkspaceDraft
from teamvars.web.http.attributes import Attribute, Group

_IN_OBJECTS = (OWN_MODE, OWN_POOL)
_NOT_SHOWN = ("agent-pool-id", "migration-environment")
_Line = Annotated[str, Meta(max_length=MAX_CHARACTERS)]


def draft(settings: dict[str, Any] | None = None, **said: Any) -> WorkspaceDraft:
    """What a request says of a workspace."""
    named = (settings or {}).items()
    values = {name: tuple(one) if isinstance(one, list) else one for name, one in named}
    return WorkspaceDraft(settings=values, **said)


def _attribute(name: str) -> Attribute[WorkspaceView]:
    """A setting, which is null where it is not offered and no flag."""
    one, member = SETTINGS[name], name.rpartition("/")[2]
    is_null = bool(one.not_offered) and not isinstance(one.default, bool)

    def of(view: WorkspaceView) -> Value | None:
        return None if is_null else view.details.settings.value(name)

    shown: Any = list[str] if isinstance(one.default, tuple) else type(one.default)
    if is_null:
        shown = None if member in _NOT_SHOWN else NoneType
    return Attribute(member, shown, of, to=f"settings/{name}", **_given(one))


def _given(one: Setting) -> dict[str, Any]:
    """What a request may say of it, what it means to say nothing, and to say null."""
    if isinstance(one.default, bool):
        schema = {"const": False} if one.not_offered else None
        said = Meta(description=one.text, extra_json_schema=schema)
        return {"given": Annotated[bool, said], "new": one.of_new}
    if isinstance(one.default, tuple):
        said = Meta(max_length=MAX_PATHS, description=one.text)
        return {"given": Annotated[list[_Line], said] | None, "null": ()}
    if one.is_object:
        said = Meta(description=one.text, extra_json_schema={"maxProperties": 0})
        return {"given": Annotated[dict[str, Any], said] | None}
    most = 0 if one.not_offered else MAX_CHARACTERS
    pattern = f"^({URL.pattern})?$" if one.is_url else None
    said = Meta(max_length=most, pattern=pattern, description=one.text)
    return {"given": Annotated[str, said] | None, "new": one.of_new, "null": ""}


OVERWRITES = Group[WorkspaceView](
    "SettingOverwrites",
    "Which settings are the workspace's own, and not its organization's.",
    *map(_attribute, _IN_OBJECTS),
    given="Which settings are to be the workspace's own, and not its organization's.",
)
PLAIN = [_attribute(name) for name in SETTINGS if name not in _IN_OBJECTS]
"""The settings that stand in no object."""
