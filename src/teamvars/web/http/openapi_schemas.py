"""What `/openapi.json` says of documents: the schemas of their types."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from teamvars.domain.errors import Code
from teamvars.web.http.errors import ErrorDocument
from teamvars.web.http.routes import Route

_REF = "#/components/schemas/{name}"

Schemas = dict[str, Any]
Amend = Callable[[Schemas], None]


def components(routes: Iterable[Route], amend: Amend) -> Schemas:
    """The schema of every document that any route takes or responds with."""
    types = {ErrorDocument: None} | {
        type_: None
        for one in routes
        for type_ in (one.takes and one.takes.type, *one.responses.values())
        if type_ is not None
    }
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    schemas["Error"]["properties"]["code"]["enum"] = [code.word for code in Code]
    amend(schemas)
    return schemas


def reference(type_: type) -> Mapping[str, Any]:
    """What stands for the schema of that type."""
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REF)
    return schema
