"""Tokens for jobs: the exchange of RFC 8693, with OAuth's own documents.

Nothing here is JSON:API: the body is a form, and refusals are those of RFC 6749, 5.2.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.decisions.deliveries import Asked
from teamvars.domain.access import Caller
from teamvars.domain.errors import Code, Refusal
from teamvars.services.deliveries import (
    ACCESS_TOKEN_TYPE,
    GRANT_TYPE,
    SUBJECT_TYPES,
    Deliveries,
    ExchangeForm,
)
from teamvars.web.examples import IDS
from teamvars.web.http.forms import MAX_FORM_BYTES
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Check, OwnErrors, RequestBody, Route
from teamvars.web.http.sending import Response

PATH = "/oauth/token"
_FRESH = {"Cache-Control": "no-store"}
_OWN_WORDS = {
    Code.INVALID_REQUEST,
    Code.INVALID_TARGET,
    Code.INVALID_SCOPE,
    Code.UNSUPPORTED_GRANT_TYPE,
}
# What RFC 6749, 5.2 admits in a description.
_PLAIN = {ord('"'): "'", ord("\\"): "/", ord("…"): "..."}
_BIND = Meta(description="Of the job's key, where the subject token does not name it.")
_CHOOSE = Meta(description="The id of the runner, where several mean the job.")
_RESOURCE = Meta(description="The absolute URI of a workspace: `…/api/v2/workspaces/:id`.")


class TokenForm(msgspec.Struct):
    """A job asks for a token; each parameter comes once."""

    grant_type: Annotated[str, Meta(description=GRANT_TYPE)]
    subject_token: Annotated[str, Meta(description="What the issuer says of the job.")]
    subject_token_type: Annotated[str, Meta(description=" or ".join(SUBJECT_TYPES))]
    resource: Annotated[str, _RESOURCE]
    thumbprint: Annotated[str, _BIND] | UnsetType = UNSET
    runner: Annotated[str, _CHOOSE] | UnsetType = UNSET


class TokenAnswer(msgspec.Struct):
    """A token of a job, shown only once; `expires_in` in seconds. `runner` is the id of the runner
    that means the job, in its approved `version`.
    """

    access_token: str
    expires_in: int
    runner: str
    version: int
    issued_token_type: str = ACCESS_TOKEN_TYPE
    token_type: str = "Bearer"


class TokenError(msgspec.Struct):
    """Why there is no token: one of OAuth's words, and a sentence."""

    error: str
    error_description: str


_EXAMPLE = {
    "grant_type": GRANT_TYPE,
    "subject_token": "eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl",
    "subject_token_type": SUBJECT_TYPES[0],
    "resource": f"https://vars.example.org/api/v2/workspaces/{IDS['workspace_id']}",
}


def routes(deliveries: Deliveries) -> list[Route]:
    """The one operation."""

    def sender(request: Request) -> Caller:
        return Caller(b"", request.request_id, address=request.audited_address)

    async def prove(request: Request, check: Check) -> None:
        said = request.document
        assert isinstance(said, Mapping)  # a form is one
        known = {name: said[name] for name in ExchangeForm.__struct_fields__ if name in said}
        request.document = await deliveries.proven(ExchangeForm(**known), check)

    async def exchange(request: Request) -> Response:
        """Exchange what an issuer says of a job for a token to deliver one workspace (RFC 8693)."""
        asked = request.document
        assert isinstance(asked, Asked)  # that is what was proven
        caller = sender(request)
        issued = await deliveries.exchange(caller, asked)
        request.introduced = caller
        answer = TokenAnswer(issued.token, issued.expires_in, issued.runner_id, issued.version)
        return Response.document(200, answer, _FRESH, media_type=JSON)

    return [
        Route(
            "POST",
            PATH,
            exchange,
            {200: TokenAnswer},
            takes=RequestBody(TokenForm, _EXAMPLE, is_form=True, max_bytes=MAX_FORM_BYTES),
            errors=OwnErrors(TokenError, refused),
            refuses=(400, 408, 413, 415, 429, 503),
            media_type=JSON,
            public=True,
            proves=prove,
            name="exchangeToken",
        )
    ]


def refused(refusal: Refusal, status: int, headers: Mapping[str, str]) -> Response:
    """A refusal in OAuth's words; those that it has none for are told by their status as well."""
    fault = refusal.faults[0]
    if fault.code in _OWN_WORDS:
        word = fault.code.word
    elif status in (429, 503):
        word = "temporarily_unavailable"
    else:
        word = "server_error" if status >= 500 else "invalid_request"
    told = TokenError(word, fault.detail.translate(_PLAIN))
    return Response.document(status, told, {**_FRESH, **headers}, media_type=JSON)
