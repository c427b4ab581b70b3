"""Tokens for jobs, by the exchange of RFC 8693, and for programs that somebody approved (RFC 6749,
8628); these are revoked by themselves (RFC 7009).

Nothing here is JSON:API: the body is a form, and refusals are those of RFC 6749, 5.2.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from teamvars.decisions import deliveries as jobs
from teamvars.domain.errors import Code, Fault, Refusal
from teamvars.domain.logins import CLIENT, Presented
from teamvars.kernel import Discreet
from teamvars.security.tokens import challenge_of, hash_token
from teamvars.services.deliveries import (
    ACCESS_TOKEN_TYPE,
    GRANT_TYPE,
    SUBJECT_TYPES,
    Deliveries,
    ExchangeForm,
)
from teamvars.services.logins import Logins
from teamvars.web.examples import IDS
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.parameters import MAX_FORM_BYTES
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Check, Handler, OwnErrors, RequestBody, Route
from teamvars.web.http.sending import FRESH, Response

PATH = "/oauth/token"
_OWN_WORDS = {
    Code.INVALID_REQUEST,
    Code.INVALID_TARGET,
    Code.INVALID_SCOPE,
    Code.UNSUPPORTED_GRANT_TYPE,
    Code.INVALID_CLIENT,
    Code.INVALID_GRANT,
    Code.AUTHORIZATION_PENDING,
    Code.SLOW_DOWN,
    Code.ACCESS_DENIED,
    Code.EXPIRED_TOKEN,
    Code.UNSUPPORTED_TOKEN_TYPE,
    Code.OUTCOME_UNKNOWN,
}
# What RFC 6749, 5.2 admits in a description.
_PLAIN = {ord('"'): "'", ord("\\"): "/", ord("…"): "..."}
_BIND = Meta(description="Of the job's key, where the subject token does not name it.")
_CHOOSE = Meta(description="The id of the runner, where several mean the job.")
_RESOURCE = Meta(description="The absolute URI of a workspace: `…/api/v2/workspaces/:id`.")


class Grant(StrEnum):
    """How a program comes by its token."""

    CODE = "authorization_code"
    DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class TokenForm(msgspec.Struct):
    """A job asks for a token, or a program that somebody approved; each parameter comes once."""

    grant_type: Annotated[str, Meta(description=f"{GRANT_TYPE}, {Grant.CODE} or {Grant.DEVICE}")]
    subject_token: (
        Annotated[str, Meta(description="What the issuer says of the job.")] | UnsetType
    ) = UNSET
    subject_token_type: Annotated[str, Meta(description=" or ".join(SUBJECT_TYPES))] | UnsetType = (
        UNSET
    )
    resource: Annotated[str, _RESOURCE] | UnsetType = UNSET
    thumbprint: Annotated[str, _BIND] | UnsetType = UNSET
    runner: Annotated[str, _CHOOSE] | UnsetType = UNSET
    client_id: Annotated[str, Meta(description=f"Of a program: {CLIENT}.")] | UnsetType = UNSET
    code: Annotated[str, Meta(description="What the browser has brought.")] | UnsetType = UNSET
    redirect_uri: Annotated[str, Meta(description="Where it has.")] | UnsetType = UNSET
    code_verifier: Annotated[str, Meta(description="RFC 7636.")] | UnsetType = UNSET
    device_code: Annotated[str, Meta(description="RFC 8628.")] | UnsetType = UNSET


class TokenAnswer(Discreet, frozen=True):
    """A token, shown only once; `expires_in` in seconds. Of a job, `runner` is the id of the runner
    that means it, in its approved `version`.
    """

    access_token: str
    expires_in: int
    runner: str | UnsetType = UNSET
    version: int | UnsetType = UNSET
    issued_token_type: str | UnsetType = UNSET
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


def routes(deliveries: Deliveries, logins: Logins) -> list[Route]:
    """The one operation."""

    async def prove(request: Request, check: Check) -> None:
        said = request.form
        request.document = _presented(said)
        if request.document is None:
            known = {name: said[name] for name in ExchangeForm.__struct_fields__ if name in said}
            request.document = await deliveries.proven(ExchangeForm(**known), check)

    async def exchange(request: Request) -> Response:
        """Exchange what a job or a program shows for a token (RFC 8693, RFC 6749, RFC 8628)."""
        asked, caller = request.document, request.sender()
        if isinstance(asked, Presented):
            made, seconds = await logins.redeem(caller, asked)
            return document(TokenAnswer(made.secret, seconds))
        assert isinstance(asked, jobs.Asked)  # that is what was proven
        issued = await deliveries.exchange(caller, asked)
        request.introduced = caller
        about = issued.runner_id, issued.version, ACCESS_TOKEN_TYPE
        return document(TokenAnswer(issued.token, issued.expires_in, *about))

    takes = RequestBody(TokenForm, _EXAMPLE, is_form=True, max_bytes=MAX_FORM_BYTES)
    return [route(PATH, exchange, takes, TokenAnswer, proves=prove, name="exchangeToken")]


def route(
    path: str, handler: Handler, takes: RequestBody, answer: type | None, **more: Any
) -> Route:
    """An operation that takes a form, and speaks OAuth."""
    return Route(
        "POST",
        path,
        handler,
        {200: answer},
        takes,
        errors=OwnErrors(TokenError, refused),
        refuses=(400, 408, 413, 415, 429, 503),
        media_type=JSON,
        public=True,
        **more,
    )


def document(answer: msgspec.Struct) -> Response:
    """An answer that nothing in between keeps."""
    return Response.document(200, answer, FRESH, media_type=JSON)


def require_client(said: Mapping[str, str], *names: str) -> None:
    """Refuses a form of another program than ours, and one without any of these parameters."""
    missing = [name for name in ("client_id", *names) if name not in said]
    if missing:
        raise Refusal(Fault(Code.INVALID_REQUEST, f"Send {', '.join(missing)}."))
    if said["client_id"] != CLIENT:
        raise Refusal(Fault(Code.INVALID_CLIENT, f"The client_id is {CLIENT}."))


def _presented(said: Mapping[str, str]) -> Presented | None:
    """What a program shows for its token; None: it is a job. Refuses: invalid_request, _client."""
    match said.get("grant_type"):
        case Grant.CODE:
            require_client(said, "code", "redirect_uri", "code_verifier")
            challenge = challenge_of(said["code_verifier"])
            return Presented(hash_token(said["code"]), challenge, said["redirect_uri"])
        case Grant.DEVICE:
            require_client(said, "device_code")
            return Presented(hash_token(said["device_code"]))
        case _:
            return None


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
    return Response.document(status, told, {**FRESH, **headers}, media_type=JSON)
