"""What the API answers, as the console's modules are checked against: types for a compiler.

They are made of `/openapi.json` whenever the check runs, as one namespace, `Api`, with a type for
each schema. A browser never sees them.
"""

import json
from collections.abc import Mapping
from typing import Any

KINDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
ANYTHING = "unknown"


def declared(document: Mapping[str, Any]) -> str:
    """A declaration of the types of all schemas of an OpenAPI document."""
    schemas = document["components"]["schemas"]
    types = [f"  type {name} = {_type_of(schema)};\n" for name, schema in schemas.items()]
    return "declare namespace Api {\n" + "".join(types) + "}\n"


def _type_of(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(map(_type_of, schema["anyOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"({_type_of(schema['items'])})[]"
    if kind == "object":
        return _object(schema)
    return "null" if kind == "null" else KINDS.get(str(kind), ANYTHING)


def _object(schema: Mapping[str, Any]) -> str:
    """What has a default is always answered, though nobody has to send it."""
    if "properties" not in schema:
        more = schema.get("additionalProperties")
        return f"Record<string, {_type_of(more) if isinstance(more, Mapping) else ANYTHING}>"
    needed = schema.get("required", ())
    members = (
        f"{json.dumps(name)}{'' if name in needed or 'default' in one else '?'}: {_type_of(one)}"
        for name, one in schema["properties"].items()
    )
    return "{ " + "; ".join(members) + " }"
