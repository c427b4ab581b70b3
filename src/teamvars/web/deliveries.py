"""Deliveries: the values of a workspace, sealed to the key of the job that asks."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.domain.deliveries import (
    MAX_GLOBS,
    DeliveryDraft,
    Nameable,
    ReceiptSearch,
    ReceiptView,
    Since,
)
from teamvars.domain.errors import Code
from teamvars.domain.ids import new_id
from teamvars.kernel.variables import Category
from teamvars.protocol import Malformed, decoded, encoded
from teamvars.protocol.bundles import Delivery
from teamvars.services.deliveries import Deliveries
from teamvars.web.http.parameters import Parameter, text_of
from teamvars.web.http.reader import Reader
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Attribute, Group, Time, timestamp, to_one
from teamvars.web.http.resources import Operations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import Response

_TYPE = "deliveries"
_PATH = "/api/v2/workspaces/{workspace_id}/actions/deliver"
_KEY, _ONLY = "public-key", "only"
_AT = "/data/attributes"
_IN = Parameter("filter[workspace]", "The name or id of a workspace.")
_TO = Parameter("filter[runner]", "The name or id of a runner.")
_OF = Parameter(
    "filter[variable]", "The id of a variable: what was handed out of it, and of it alone."
)
_SUITE = "MLKEM768-X25519, HKDF-SHA256, AES-256-GCM"
_PUBLIC_KEY = Meta(description=f"The job's own ({_SUITE}), in base64url without padding.")
_GLOBS = Meta(max_length=MAX_GLOBS, description="Of keys, with `*` and `?`; none: all.")


class WantedAttributes(msgspec.Struct, rename="kebab", forbid_unknown_fields=True):
    """The key to seal to, and which variables are wanted."""

    public_key: Annotated[str, _PUBLIC_KEY]
    only: Annotated[list[str], _GLOBS] | UnsetType = UNSET


class WantedResource(msgspec.Struct):
    """What a job wants."""

    type: Literal["deliveries"]
    attributes: WantedAttributes


class WantedDocument(msgspec.Struct):
    """A job asks for values."""

    data: WantedResource


class DeliveryAttributes(msgspec.Struct):
    """Each in base64url without padding. All values are in the `bundle`, none beside it: `info` is
    what it is bound to, and `signature` is the service's, over both.
    """

    info: str
    bundle: str
    signature: str


class DeliveryResource(msgspec.Struct):
    """What the job is handed. Nothing is kept that its id would lead to."""

    id: str
    type: str
    attributes: DeliveryAttributes


class DeliveryDocument(msgspec.Struct):
    """What the job is handed."""

    data: DeliveryResource


class NamedAttributes(msgspec.Struct, rename="kebab"):
    """A variable of the workspace, without its value. `handed-out`: whether the job is handed it,
    as readable and sensitive variables are unless its runner says otherwise.
    """

    key: str
    category: Category
    sensitive: bool
    version_id: str
    handed_out: bool


class NamedResource(msgspec.Struct):
    """A variable of the workspace; the id is that of the variable."""

    id: str
    type: str
    attributes: NamedAttributes


class NamesDocument(msgspec.Struct):
    """All variables of the workspace, by key and category."""

    data: list[NamedResource]


_RELATIONSHIPS = Group[ReceiptView](
    "ReceiptRelationships",
    "Which runner was handed which workspace; either may be gone.",
    to_one(
        "runner",
        "OneRunner",
        "A relationship to a runner.",
        "runners",
        lambda one: one.receipt.delivery.runner_id,
    ),
    to_one(
        "workspace",
        "WorkspaceOfReceipt",
        "A relationship to a workspace.",
        "workspaces",
        lambda one: one.receipt.delivery.workspace_id,
    ),
)


def _id(one: ReceiptView) -> str:
    return f"{one.receipt.delivery.runner_id}.{one.receipt.delivery.workspace_id}"


def _runner_name(one: ReceiptView) -> str | None:
    return None if one.receipt.runner is None else one.receipt.runner.spec.name


class EarlierDelivery(msgspec.Struct, rename="kebab"):
    """When a variable was handed out that was not in the last delivery."""

    version_id: str
    delivered_at: Time
    run_link: str | None


class HandedVariableKey(msgspec.Struct):
    """A variable to rotate."""

    id: str
    key: str
    category: Category


def _earlier(one: ReceiptView) -> dict[str, EarlierDelivery]:
    found = one.receipt.delivery.earlier
    return {
        id_: EarlierDelivery(said.version_id, timestamp(said.at, _id(one)), said.run_link)
        for id_, said in found.items()
    }


def _to_rotate(one: ReceiptView) -> list[HandedVariableKey]:
    return [HandedVariableKey(each.id, each.key, each.category) for each in one.to_rotate]


RECEIPT = Resource[ReceiptView](
    type="delivery-receipts",
    name="Receipt",
    noun="a receipt",
    tag="Runners",
    id=_id,
    attributes=(
        Attribute("delivered-at", Time, lambda one: timestamp(one.receipt.delivery.at, _id(one))),
        Attribute("run-link", str | None, lambda one: one.receipt.delivery.run_link),
        Attribute("runner-name", str | None, _runner_name),
        Attribute("runner-status", Since, lambda one: one.since),
        Attribute("workspace-name", str | None, lambda one: one.receipt.workspace),
        Attribute("versions", dict[str, str], lambda one: one.receipt.delivery.versions),
        Attribute("earlier", dict[str, EarlierDelivery], _earlier),
        Attribute("to-rotate", list[HandedVariableKey], _to_rotate),
    ),
    members=(Attribute("relationships", _RELATIONSHIPS),),
    texts={
        "ReceiptAttributes": (
            "When a workspace was last delivered to a runner, and the `versions` of its variables "
            "then, by their ids. The names are as of now, and null once it is gone.\n\n"
            "`earlier` has what was only handed out before that. `run-link` is null where the "
            "job's claims lead to no page.\n\n"
            "`runner-status` is what has become of the runner since. Where that is `revoked` or "
            "`deleted`, `to-rotate` names the sensitive variables that have not changed since they "
            "were handed out."
        ),
        "ReceiptListDocument": "One page of the last deliveries of an organization or workspace.",
    },
)
_WANTED = RequestBody(
    WantedDocument,
    {"data": {"type": _TYPE, "attributes": {_KEY: "A" * 1622, _ONLY: ["DB_*"]}}},
)


def routes(deliveries: Deliveries) -> list[Route]:
    """What jobs ask for, and what owners see of it."""

    async def admit(request: Request) -> None:
        await deliveries.admit(request.require_job(), request.parameters["workspace_id"])

    async def names(request: Request) -> Response:
        """List what a job would be handed, without values, and what is there besides."""
        caller, workspace_id = request.require_job(), request.parameters["workspace_id"]
        found = await deliveries.names(caller, workspace_id)
        return Response.document(200, NamesDocument([_named(one) for one in found]))

    async def deliver(request: Request) -> Response:
        """Hand a job the values of a workspace, sealed to its own key; a receipt comes first."""
        caller, workspace_id = request.require_job(), request.parameters["workspace_id"]
        handed = await deliveries.deliver(caller, workspace_id, _draft(request.document))
        return Response.document(200, _document(handed))

    return [
        Operations(RECEIPT).lists(
            "/api/v2/organizations/{organization}/deliveries",
            "List which runner was last handed which workspace, when and by which job, newest "
            "first.",
            deliveries.receipts,
            asks=_search("organization"),
            reads=(_IN, _TO, _OF),
            may_forbid=True,
            name="listDeliveries",
        ),
        Operations(RECEIPT).lists(
            "/api/v2/workspaces/{workspace_id}/deliveries",
            "List which runner was last handed a workspace, when and by which job, newest first.",
            deliveries.receipts_of_workspace,
            asks=_search("workspace_id"),
            reads=(_TO, _OF),
            name="listWorkspaceDeliveries",
        ),
        Route(
            "GET",
            _PATH,
            names,
            {200: NamesDocument},
            admit=admit,
            for_jobs=True,
            tag="Runners",
            name="listDeliverables",
        ),
        Route(
            "POST",
            _PATH,
            deliver,
            {200: DeliveryDocument},
            takes=_WANTED,
            admit=admit,
            for_jobs=True,
            tag="Runners",
            name="deliverVariables",
        ),
    ]


def _search(parameter: str) -> Callable[[Request], tuple[str, ReceiptSearch]]:
    """What a list asks about: whose receipts, and which of them."""

    def asked(request: Request) -> tuple[str, ReceiptSearch]:
        words = (text_of(request, each) for each in (_IN, _TO, _OF))
        return request.parameters[parameter], ReceiptSearch(*words)

    return asked


def _named(one: Nameable) -> NamedResource:
    said = one.variable
    attributes = NamedAttributes(
        said.key, said.category, said.sensitive, said.version_id, one.is_handed_out
    )
    return NamedResource(said.id, "deliverables", attributes)


def _draft(document: object) -> DeliveryDraft:
    """What a job asks for. A mistyped `only` must not have everything handed out."""
    read = Reader(document)
    attributes = read.attributes(_TYPE)
    read.refuse_unknown(attributes, known={_KEY, _ONLY})
    key = _key(read, attributes)
    globs = read.member(attributes, _ONLY, list, _AT, required=False)
    only = read.texts(globs, f"{_AT}/{_ONLY}") or []
    return DeliveryDraft(key, only, read.faults)


def _key(read: Reader, attributes: Mapping[str, Any] | None) -> bytes:
    text = read.member(attributes, _KEY, str, _AT)
    try:
        return decoded(text or "")
    except Malformed:
        read.fault(Code.INVALID_VALUE, "A key is in base64url, without padding.", f"{_AT}/{_KEY}")
        return b""


def _document(handed: Delivery) -> DeliveryDocument:
    sent = (encoded(part) for part in (handed.info, handed.bundle, handed.signature))
    return DeliveryDocument(DeliveryResource(new_id("dlv"), _TYPE, DeliveryAttributes(*sent)))
