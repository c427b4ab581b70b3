"""Where programs ask for a token, and where somebody approves them in the console.

The page that programs open is the console's. What it asks here takes a token, as everything does:
no other page can ask it, and none can have it in a frame.
"""

import re
from html import escape
from typing import Annotated
from urllib.parse import urlencode

from msgspec import UNSET, Meta, Struct, UnsetType

from teamvars.domain.errors import Code, Fault, Refusal, refuse_all
from teamvars.domain.logins import (
    CHALLENGE,
    CLIENT,
    DEVICE,
    HOST,
    LONGEST,
    LOOPBACK,
    STATE,
    Consent,
    LoginDraft,
    is_host,
    is_lifetime,
)
from teamvars.kernel import Discreet
from teamvars.security.tokens import OF_JOB, hash_token, written_code
from teamvars.services.logins import POLL_SECONDS, Asked, Logins
from teamvars.web import oauth
from teamvars.web.http import pages
from teamvars.web.http.addresses import counted_address
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import Attribute, Time, timestamp
from teamvars.web.http.resources import Operations, Resource
from teamvars.web.http.routes import RequestBody, Route
from teamvars.web.http.sending import FRESH, Response

AUTHORIZE = "/oauth/authorize"
PAGE = "/app/settings/login"
_ACTIONS = "/api/v2/logins/actions"
_USER_CODE = Meta(description="What a program shows that waits. With it nothing else counts.")


def _like(pattern: re.Pattern[str], description: str) -> Meta:
    return Meta(pattern=f"^{pattern.pattern}$", description=description)


_HOST = _like(HOST, "Where the program runs, as it says.")
_REDIRECT = _like(LOOPBACK, "Of the program beside the browser, on this machine.")
_CHALLENGE = _like(CHALLENGE, "By S256 (RFC 7636).")
_STATE = _like(STATE, "What the program hears again.")
_LIVES = "How long the token is to live, in seconds; without it 90 days at most."
_SECONDS = Meta(ge=1, le=LONGEST, description=_LIVES)


def _written(one: Consent) -> str | None:
    code = one.login.user_code
    return None if code is None else written_code(code)


LOGIN = Resource[Consent](
    type="logins",
    name="Login",
    noun="a program that somebody logs in",
    tag="Tokens",
    id=lambda one: one.login.id,
    draft=LoginDraft,
    strict=True,
    attributes=(
        Attribute(
            "user-code",
            str | None,
            _written,
            given=Annotated[str, _USER_CODE] | None,
        ),
        Attribute("host", str, lambda one: one.login.host, given=Annotated[str, _HOST] | None),
        Attribute(
            "redirect-uri",
            str | None,
            lambda one: one.answer,
            given=Annotated[str, _REDIRECT] | None,
        ),
        Attribute("code-challenge", given=Annotated[str, _CHALLENGE] | None),
        Attribute("state", given=Annotated[str, _STATE] | None),
        Attribute("expires-in", given=Annotated[int, _SECONDS] | None),
        Attribute("address", str | None, lambda one: one.login.address),
        Attribute("expires-at", Time, lambda one: timestamp(one.ends_at, one.login.id)),
    ),
    texts={
        "LoginAttributes": (
            "What a program would be given: a token that ends at `expires-at`. `redirect-uri` is "
            "where the browser goes: with the code once it is approved, and before with a "
            "refusal; null for one that waits, which asked from `address`."
        ),
        "LoginResource": "A program that somebody approves, or not.",
    },
)
_EXAMPLE = LOGIN.new_body(attributes={"user-code": "WDJBM-JHTXK"})
_FIXED = {"response_type": "code", "client_id": CLIENT, "code_challenge_method": "S256"}
_TOLD = ("code_challenge", "redirect_uri", "state", "host", "expires_in")
_FORM_BYTES = 4096
"""More than any of these says."""
_ENDS_BY_ITSELF = Fault(
    Code.UNSUPPORTED_TOKEN_TYPE, "A token of a job ends by itself: nobody revokes one alone."
)


class DeviceForm(Struct):
    """A program asks for a code that somebody is to type; each parameter comes once."""

    client_id: Annotated[str, Meta(description=CLIENT)]
    host: Annotated[str, Meta(description="What the program calls its machine.")]
    expires_in: Annotated[str, Meta(description=_LIVES)] | UnsetType = UNSET


class DeviceAnswer(Discreet, frozen=True):
    """What the program shows for its token, `device_code`, and what it asks somebody to type where;
    it asks every `interval` seconds, until `expires_in`.
    """

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: int = DEVICE // 1_000_000
    interval: int = POLL_SECONDS


class RevocationForm(Struct):
    """A token of a user that is to end (RFC 7009)."""

    token: str
    token_type_hint: str | UnsetType = UNSET


def routes(logins: Logins) -> list[Route]:
    """What programs ask and open, and what the console asks for whoever looks at it."""
    return [*_for_programs(logins), *_for_the_console(logins)]


def page_routes(logins: Logins) -> list[Route]:
    """What a program opens in the browser beside it, where there is a console."""

    async def authorize(request: Request) -> Response:
        """Lead a browser to where somebody approves a program beside it (RFC 6749, RFC 8252)."""
        try:
            place = _place(request, logins.place)
        except Refusal as refusal:
            return _page(" ".join(fault.detail for fault in refusal.faults))
        return Response(302, b"", {"Location": place, **FRESH, **pages.FILE_HEADERS})

    return [Route("GET", AUTHORIZE, authorize, {302: None}, public=True)]


def _for_programs(logins: Logins) -> list[Route]:
    async def begin(request: Request) -> Response:
        """Begin to wait for somebody who types a code (RFC 8628)."""
        begun = await logins.begin(_asked(request))
        return oauth.document(DeviceAnswer(begun.device_code, begun.user_code, begun.place))

    async def revoke(request: Request) -> Response:
        """Revoke a token of a user, whoever has it (RFC 7009). One that is none is as good."""
        token = request.form.get("token")
        if token is None:
            raise Refusal(Fault(Code.INVALID_REQUEST, "Send token."))
        if OF_JOB.fullmatch(token) is not None:
            raise Refusal(_ENDS_BY_ITSELF)
        request.caller = caller = request.sender(hash_token(token))
        await logins.revoke(caller)
        return Response(200, b"", FRESH)

    device = _form(DeviceForm, client_id=CLIENT, host="build-7")
    revocation = _form(RevocationForm, token="a token")
    return [
        oauth.route("/oauth/device_authorization", begin, device, DeviceAnswer, name="beginLogin"),
        oauth.route("/oauth/revoke", revoke, revocation, None, name="revokeToken"),
    ]


def _for_the_console(logins: Logins) -> list[Route]:
    do = Operations(LOGIN)
    return [
        do.acts(
            f"{_ACTIONS}/show",
            "Say what a program would be given if the caller approved it; nothing is changed.",
            logins.show,
            takes=_EXAMPLE,
            keyed=False,
            name="showLogin",
        ),
        do.acts(
            f"{_ACTIONS}/approve",
            "Approve a program: it has a token of the caller's to come.",
            logins.approve,
            takes=_EXAMPLE,
            keyed=False,
            name="approveLogin",
        ),
        do.acts(
            f"{_ACTIONS}/deny",
            "Refuse a program that waits with a code.",
            logins.deny,
            takes=_EXAMPLE,
            keyed=False,
            status=204,
            name="denyLogin",
        ),
    ]


def _form(type_: type[Struct], **example: str) -> RequestBody:
    return RequestBody(type_, example, is_form=True, max_bytes=_FORM_BYTES)


def _asked(request: Request) -> Asked:
    """What a program says that begins to wait. Refuses: invalid_request, invalid_client."""
    said = request.form
    oauth.require_client(said, "host")
    text = said.get("expires_in")
    seconds = int(text) if text and text.isascii() and text.isdecimal() and len(text) < 16 else None
    if not is_host(said["host"]) or (text and seconds is None) or not is_lifetime(seconds):
        detail = "host and expires_in are as with the authorization endpoint."
        raise Refusal(Fault(Code.INVALID_REQUEST, detail))
    counted = counted_address(request.client)
    lifetime = None if seconds is None else seconds * 1_000_000
    return Asked(said["host"], lifetime, request.audited_address, counted)


def _place(request: Request, service: str) -> str:
    """Where the page is. Refuses what it is not for; the rest the page is told, by the API."""
    said = dict(request.query)
    faults = [
        Fault(Code.INVALID_REQUEST, f"{name} is {value}.", parameter=name)
        for name, value in _FIXED.items()
        if said.get(name) != value
    ]
    if len(said) < len(request.query):
        faults.append(Fault(Code.INVALID_REQUEST, "A parameter is sent more than once."))
    refuse_all(faults)
    known = {name: said[name] for name in _TOLD if name in said}
    return f"{service}{PAGE}?{urlencode(known)}"


def _page(said: str) -> Response:
    content = f"<main>\n<h1>This is no login</h1>\n<p>{escape(said)}</p>\n</main>"
    return pages.notice(400, "No login", content)
