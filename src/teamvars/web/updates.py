"""Updates of many variables of a workspace by their ids, where clients look for that."""

from functools import partial
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.applies import MAX_ITEMS
from teamvars.kernel.variables import Category
from teamvars.services.planning import Applied
from teamvars.web.applies import VERSION_ID, VERSIONED_NAME, ApplyRoutes, draft
from teamvars.web.dialects import Dialect
from teamvars.web.examples import IDS
from teamvars.web.http.negotiation import IF_MATCH
from teamvars.web.http.request import Request
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response
from teamvars.web.variables.documents import entity_tag
from teamvars.web.variables.owners import OF_WORKSPACES
from teamvars.web.variables.requests import VariableChanges, changed_item


class ItemVersion(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """Of an item of updates that are `versioned`."""

    version_id: Annotated[str, Meta(description="The version it must be at.")] | UnsetType = UNSET


class ChangedItem(msgspec.Struct):
    """A variable to update, by its id; what is left out stays."""

    type: Literal["vars"]
    id: str
    attributes: VariableChanges
    meta: ItemVersion | UnsetType = UNSET


class UpdateOptions(msgspec.Struct, forbid_unknown_fields=True):
    """How they are updated."""

    versioned: Annotated[bool, Meta(description="Items may name versions.")] = False


class UpdatesDocument(msgspec.Struct):
    """Updates variables of a workspace."""

    data: Annotated[list[ChangedItem], Meta(max_length=MAX_ITEMS)]
    meta: UpdateOptions | UnsetType = UNSET


def body(dialect: Dialect) -> RequestBody:
    """A document that updates variables."""
    attributes = {"value": "eu-west-1", "category": dialect.categories[Category.ENV]}
    region = {"type": "vars", "id": IDS["variable_id"], "attributes": attributes}
    return RequestBody(UpdatesDocument, {"data": [region]}, max_items=MAX_ITEMS)


def routes(applies: ApplyRoutes, dialect: Dialect) -> list[Route]:
    """The operation, which is an apply but for its documents."""
    kind = OF_WORKSPACES

    async def update(request: Request) -> Response:
        owner = kind.identifier(request)
        read_item = partial(changed_item, owner=owner, dialect=dialect)
        asked = await draft(request.document, read_item, (VERSIONED_NAME,), (VERSION_ID,))
        return await applies.make(kind, request, asked, done)

    def done(applied: Applied) -> Response:
        tag = entity_tag(applied.version, applied.owner, dialect)
        return Response(204, headers={"ETag": tag})

    return [
        applies.route(
            kind,
            "PATCH relationships/vars",
            update,
            {204: None},
            takes=body(dialect),
            turn=applies.turn_unless_short,
            precondition=IF_MATCH,
            name="updateVariables",
            text="Update variables of a workspace by their ids, all or none.",
        )
    ]
