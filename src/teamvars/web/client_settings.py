"""Settings of a noun as attributes, made of its table in the domain; and the level of an access."""

from collections.abc import Callable
from types import NoneType
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from teamvars.domain.access import Level
from teamvars.domain.client_settings import MAX_CHARACTERS, MAX_ITEMS, URL, Setting, Value, Values
from teamvars.domain.team_access import GRANT_LEVELS
from teamvars.web.http.resource_objects import Attribute, one_of

_Line = Annotated[str, Meta(max_length=MAX_CHARACTERS)]

T = TypeVar("T")

_LEVELS = tuple(level.word for level in GRANT_LEVELS)
_LEVEL_SHOWN = Meta(extra_json_schema={"enum": list(_LEVELS)})
_LEVEL_GIVEN = Meta(description="Where the access is not 'custom', only what it says itself.")
ACCESS_LEVEL: Attribute[Any] = Attribute(
    "variables",
    Annotated[str, _LEVEL_SHOWN],
    lambda one: one.level.word,
    given=one_of(_LEVELS, _LEVEL_GIVEN),
    new=Level.NONE.word,
)
"""The level that a team's access gives, to whatever it is."""


def read_values(said: dict[str, Any] | None) -> Values:
    """The settings that a request names, as the domain has them."""
    named = (said or {}).items()
    return {name: tuple(one) if isinstance(one, list) else one for name, one in named}


def setting_attribute(
    one: Setting, value: Callable[[T, str], Value], *, is_shown: bool = True
) -> Attribute[T]:
    """A setting, which is null where it is not offered and no flag."""
    is_null = bool(one.not_offered) and not isinstance(one.default, bool)

    def of(seen: T) -> Value:
        return None if is_null else value(seen, one.name)

    shown: Any = list[str] if isinstance(one.default, tuple) else type(one.default)
    if is_null:
        shown = NoneType
    elif one.words:
        shown = one_of(_offered(one), Meta())
    name = one.name.rpartition("/")[2]
    return Attribute(
        name, shown if is_shown else None, of, to=f"settings/{one.name}", **_given(one)
    )


def _given(one: Setting) -> dict[str, Any]:
    """What a request may say of it, what it means to say nothing, and to say null."""
    if one.default is None:
        said = Meta(description=one.text, extra_json_schema={"type": "null"})
        return {"given": Annotated[int, said] | None}
    if isinstance(one.default, bool):
        schema = {"const": one.default} if one.not_offered else None
        said = Meta(description=one.text, extra_json_schema=schema)
        return {"given": Annotated[bool, said], "new": one.of_new}
    if isinstance(one.default, tuple):
        said = Meta(max_length=MAX_ITEMS, description=one.text)
        return {"given": Annotated[list[_Line], said] | None, "null": ()}
    if one.words:
        return {"given": one_of(_offered(one), Meta(description=one.text)), "new": one.of_new}
    if one.is_object:
        said = Meta(description=one.text, extra_json_schema={"maxProperties": 0})
        return {"given": Annotated[dict[str, Any], said] | None}
    most = 0 if one.not_offered else MAX_CHARACTERS
    pattern = f"^({URL.pattern})?$" if one.is_url else None
    said = Meta(max_length=most, pattern=pattern, description=one.text)
    return {"given": Annotated[str, said] | None, "new": one.of_new, "null": ""}


def _offered(one: Setting) -> list[str]:
    return [word for word, reason in one.words.items() if not reason]
