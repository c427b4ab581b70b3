"""Signing in with a provider: where a browser is sent, how it comes back, and what it is given; and
how the provider says that somebody has signed out there.

No parameter says where anybody goes afterwards. The session's cookie is read by one operation,
which changes nothing and answers nobody but our own pages: everything else takes a token.
"""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

import msgspec

from teamvars.domain.access import Caller
from teamvars.domain.errors import NO_VALID_TOKEN, Code, Fault, Refusal, forbidden, not_found
from teamvars.domain.sign_ins import SESSION, SignOut, device_of
from teamvars.security.assertions import Unproven
from teamvars.security.sign_ins import ATTEMPT_SECONDS
from teamvars.services.sign_ins import Answered, SignIns, tell
from teamvars.web.http import pages
from teamvars.web.http.addresses import counted_address
from teamvars.web.http.cookies import Cookies
from teamvars.web.http.errors import STATUS
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Check, Handler
from teamvars.web.http.sending import Response

PATH = "/app/sign-in"
_HOME = "/app/"
_ATTEMPT, _SESSION = "sign-in", "session"
_HEADER = "teamvars-session"
_SESSION_SECONDS = SESSION // 1_000_000
_FRESH = {"Cache-Control": "no-store"}
_AGAIN = (
    "The provider could not be asked, or its answer does not fit to what this browser has begun. "
    "Sign in again; if that does not help, tell whoever runs this service the id below."
)
_STYLE = (
    "body{font:1em/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "code{overflow-wrap:anywhere}:root{color-scheme:light dark}"
)


def callback(name: str) -> str:
    """Where the provider of that name sends people back to, behind the service's address."""
    return f"{PATH}/{name}/callback"


def _logout(name: str) -> str:
    """Where that provider says who has signed out (OpenID Connect Back-Channel Logout 1.0)."""
    return f"{PATH}/{name}/logout"


class LogoutForm(msgspec.Struct):
    """A provider says that somebody has signed out there."""

    logout_token: str


class TakenUp(msgspec.Struct):
    """The token of a session, which every tab of the browser is given, and the session's id."""

    token: str
    session: str


class SignInPages:
    """What browsers ask for who sign in, at a service of that public address, as they write it:
    without the port that is the scheme's own.
    """

    def __init__(self, sign_ins: SignIns, public_url: str) -> None:
        self._sign_ins = sign_ins
        self._cookies = Cookies(public_url)
        place = urlsplit(public_url)
        self._origin = f"{place.scheme}://{place.netloc}".lower()

    @property
    def titles(self) -> Mapping[str, str]:
        """What each provider is called on its button, by the address that leads there: the public
        one, which has the cookies, wherever the page is.
        """
        return {f"{self._origin}{PATH}/{one.name}": one.title for one in self._sign_ins.providers}

    def handlers(self) -> Mapping[str, Handler]:
        """Those of each path."""
        found: dict[str, Handler] = {}
        for provider in self._sign_ins.providers:
            found[f"{PATH}/{provider.name}"] = self._departing(provider.name)
            found[callback(provider.name)] = self._arriving(provider.name)
        return found

    async def take_up(self, request: Request) -> Response:
        """Give one of our pages the token of the session that the browser is signed in to.

        Refuses: forbidden to all but our own pages; unauthenticated; id_conflict, where the page
        means another session than that.
        """
        named = request.header(_HEADER)
        origin = (request.header("origin") or "").lower()
        is_ours = origin == self._origin and request.header("sec-fetch-site") == "same-origin"
        if not is_ours or named is None:
            raise forbidden("Only the pages of this service may ask this.")
        secret = self._cookies.read(request, _SESSION)
        if secret is None:
            raise Refusal(NO_VALID_TOKEN)
        opened = await self._sign_ins.take_up(secret)
        if named not in ("", opened.session.token_id):
            detail = "Somebody has signed in again in this browser since."
            raise Refusal(Fault(Code.ID_CONFLICT, detail, header="Teamvars-Session"))
        answer = TakenUp(opened.token, opened.session.token_id)
        return Response.document(200, answer, _FRESH, media_type=JSON)

    async def prove_sign_out(self, request: Request, check: Check) -> None:
        """Find out whether a provider has said what is sent where it says who signed out there.

        Refuses: not found, on other paths; what it has not said.
        """
        name, form = self._signing_out(request), request.document
        assert isinstance(form, Mapping)  # a form is one
        token = form.get("logout_token", "")
        request.document = await self._sign_ins.proven(name, token, check)

    async def sign_out(self, request: Request) -> Response:
        """End what somebody has signed in for. Refuses: what was said before."""
        name, said = self._signing_out(request), request.document
        assert isinstance(said, SignOut)  # that is what was proven
        caller = Caller(b"", request.request_id, address=request.audited_address)
        await self._sign_ins.sign_out(caller, name, said)
        return Response(200, b"", _FRESH)

    def _signing_out(self, request: Request) -> str:
        """The name of the provider that says it there. Refuses: not found."""
        asked = request.full_path.removesuffix("/")
        for one in self._sign_ins.providers:
            if asked == _logout(one.name):
                return one.name
        raise not_found()

    def _departing(self, name: str) -> Handler:
        async def depart(request: Request) -> Response:
            attempt = self._sign_ins.attempt(name)
            try:
                place = await self._sign_ins.departure(name, attempt)
            except Unproven as unproven:
                return _failed(request, name, unproven)
            kept = self._cookies.put(
                _ATTEMPT, attempt.cookie, seconds=ATTEMPT_SECONDS, same_site="Lax"
            )
            return Response(302, b"", {"Location": place, **kept, **_FRESH})

        return depart

    def _arriving(self, name: str) -> Handler:
        async def arrive(request: Request) -> Response:
            caller = Caller(b"", request.request_id, address=request.audited_address)
            said = dict(request.query)
            device = device_of(request.header("user-agent") or "")
            cookie, address = self._cookies.read(request, _ATTEMPT), counted_address(request.client)
            answered = Answered(said, cookie, device, address)
            try:
                if len(said) < len(request.query):
                    raise Unproven("a parameter that is sent twice")
                secret = await self._sign_ins.arrive(caller, name, answered)
            except Unproven as unproven:
                return _failed(request, name, unproven)
            except Refusal as refusal:
                return _refused(request, name, refusal)
            kept = self._cookies.put(_SESSION, secret, seconds=_SESSION_SECONDS, same_site="Strict")
            return Response(303, b"", {"Location": _HOME, **kept, **_FRESH})

        return arrive


def _failed(request: Request, name: str, unproven: Unproven) -> Response:
    tell(request.request_id, name, unproven.reason)
    return _page(request, STATUS[forbidden("").kind], _AGAIN)


def _refused(request: Request, name: str, refusal: Refusal) -> Response:
    said = " ".join(fault.detail for fault in refusal.faults)
    tell(request.request_id, name, said)
    return _page(request, STATUS[refusal.kind], said)


def _page(request: Request, status: int, said: str) -> Response:
    content = (
        f"<main>\n<h1>You are not signed in</h1>\n<p>{escape(said)}</p>\n"
        f"<p>Id: <code>{escape(request.request_id)}</code></p>\n"
        f'<p><a href="{_HOME}">Back to signing in</a></p>\n</main>'
    )
    page = pages.page("Not signed in", content, style=_STYLE)
    return Response(status, page.body, {"Content-Type": pages.TYPE, **page.headers})
