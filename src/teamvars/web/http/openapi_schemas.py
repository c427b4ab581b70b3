"""What `/openapi.json` says of documents: their types, as one dialect speaks and takes them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from teamvars.domain.errors import Code
from teamvars.web.dialects import Dialect
from teamvars.web.http.errors import ErrorDocument
from teamvars.web.http.routes import Route

_REF = "#/components/schemas/{name}"
_WITH_CATEGORY = ("NewVariableAttributes", "VariableChanges", "VariableAttributes")


def components(routes: Iterable[Route], dialect: Dialect) -> dict[str, Any]:
    """The schema of every document that any route takes or answers with."""
    types = {ErrorDocument: None} | {
        type_: None
        for one in routes
        for type_ in (one.takes, *one.answers.values())
        if type_ is not None
    }
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    schemas["Error"]["properties"]["code"]["enum"] = [code.word for code in Code]
    _speak(schemas, dialect)
    return schemas


def reference(type_: type) -> Mapping[str, Any]:
    """What stands for the schema of that type."""
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REF)
    return schema


def _speak(schemas: dict[str, Any], dialect: Dialect) -> None:
    """Says what is particular to the dialect; the types say what is the same in all."""
    for name in _WITH_CATEGORY:
        schemas[name]["properties"]["category"]["enum"] = list(dialect.categories.values())
    created, changed = schemas["NewVariableAttributes"], schemas["ChangedVariableResource"]
    created["required"] = sorted(dialect.required_to_create)
    if "description" not in dialect.required_to_create:
        created["properties"]["description"]["default"] = ""
    changed["required"] = ["type", *sorted(dialect.required_to_update)]
    if dialect.usernames:
        named = schemas["UserIdentifier"]["properties"]["id"]
        named["description"] = "The id or the username of a user."
