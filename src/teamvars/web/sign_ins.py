"""Signing in with a provider: where a browser is sent, how it comes back, and what it is given;
how the provider says that somebody has signed out there; and linking an account there with whoever
is signed in already.

No parameter says where anybody goes afterwards. The session's cookie is read by one operation,
which changes nothing and answers nobody but our own pages: everything else takes a token.
"""

from collections.abc import Mapping
from html import escape
from urllib.parse import urlsplit

import msgspec

from teamvars.domain.errors import NO_VALID_TOKEN, Code, Fault, Refusal, forbidden, not_found
from teamvars.domain.sign_ins import SESSION, SignOut, device_of
from teamvars.kernel import Discreet
from teamvars.metrics import Counter
from teamvars.protocol import Malformed, decoded, encoded
from teamvars.security.assertions import Unproven
from teamvars.security.sign_ins import ATTEMPT_SECONDS
from teamvars.services.sign_ins import Answered, SignIns, tell
from teamvars.web.http import pages
from teamvars.web.http.addresses import counted_address
from teamvars.web.http.errors import STATUS
from teamvars.web.http.negotiation import JSON
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Check, Handler
from teamvars.web.http.sending import FRESH, Response

PATH = "/app/sign-in"
_HOME = "/app/"
_TOKENS = "/app/settings/tokens"
_ATTEMPT, _ANSWER, _SESSION = "sign-in", "answer", "session"
_HEADER = "teamvars-session"
_SESSION_SECONDS = SESSION // 1_000_000
_AGAIN = (
    "The provider could not be asked, or its answer does not fit to what this browser has begun. "
    "Sign in again; if that does not help, tell whoever runs this service the id below."
)
_NOT_LINKED = (
    "The provider could not be asked, or its answer does not fit to what this browser has begun. "
    "Begin again; if that does not help, tell whoever runs this service the request's id."
)
_LONGEST_COOKIE = 3800
_HTTP_PORT = 80
_DONE, _UNPROVEN, _REFUSED = "signed in", "unproven", "refused"
ARRIVALS = Counter(
    "teamvars_sign_ins_total",
    "What became of those who came back from a provider, or could not be sent there.",
    "outcome",
    (_DONE, _UNPROVEN, _REFUSED),
)


def callback(name: str) -> str:
    """Where the provider of that name sends people back to, behind the service's address."""
    return f"{PATH}/{name}/callback"


class LogoutForm(msgspec.Struct):
    """A provider says that somebody has signed out there."""

    logout_token: str


class Kept(Discreet, frozen=True):
    """What a provider has answered to an attempt to link, until the page that began it asks."""

    provider: str
    said: dict[str, str]


class TakenUp(Discreet, frozen=True):
    """The token of a session, which every tab of the browser is given, and the session's id."""

    token: str
    session: str


class Cookies:
    """Cookies of our own, which go to this host and port alone as far as browsers allow (RFC
    6265bis).

    What they are called and whether they need TLS follows from the service's public address: never
    from what a request says of its host.
    """

    def __init__(self, public_url: str) -> None:
        place = urlsplit(public_url)
        self._is_secure = place.scheme == "https"
        # A host's ports share its cookies, and only over TLS does the prefix keep others from
        # setting one of ours.
        port = place.port or _HTTP_PORT
        self._name = "__Host-teamvars-{}" if self._is_secure else f"teamvars-{{}}-{port}"

    def put(self, what: str, value: str, *, seconds: int, same_site: str) -> dict[str, str]:
        """The header that has a browser keep a value."""
        secure = "; Secure" if self._is_secure else ""
        rules = f"Path=/; Max-Age={seconds}; HttpOnly; SameSite={same_site}{secure}"
        return {"Set-Cookie": f"{self._name.format(what)}={value}; {rules}"}

    def read(self, request: Request, what: str) -> str | None:
        """What a browser has kept; None: nothing, or somebody has put another one beside it."""
        name = self._name.format(what)
        pairs = [
            pair.strip().partition("=") for pair in (request.header("cookie") or "").split(";")
        ]
        found = [value for key, _, value in pairs if key == name]
        return found[0] if len(found) == 1 else None


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
            found[f"{PATH}/{provider.name}/link"] = self._departing(provider.name, links=True)
            found[callback(provider.name)] = self._arriving(provider.name)
        return found

    def posts(self) -> Mapping[str, Handler]:
        """What our own pages ask, by the segment below the console's path."""
        return {"session": self.take_up, "link": self.link}

    async def take_up(self, request: Request) -> Response:
        """Give one of our pages the token of the session that the browser is signed in to.

        Refuses: forbidden to all but our own pages; unauthenticated; id_conflict, where the page
        means another session than that.
        """
        named = self._named(request)
        secret = self._cookies.read(request, _SESSION)
        if secret is None:
            raise Refusal(NO_VALID_TOKEN)
        opened = await self._sign_ins.take_up(secret)
        if named not in ("", opened.session.token_id):
            detail = "Somebody has signed in again in this browser since."
            raise Refusal(Fault(Code.ID_CONFLICT, detail, header="Teamvars-Session"))
        answer = TakenUp(opened.token, opened.session.token_id)
        return Response.document(200, answer, FRESH, media_type=JSON)

    async def prove_sign_out(self, request: Request, check: Check) -> None:
        """Find out whether a provider has said what is sent where it says who signed out there.

        Refuses: not found, on other paths; what it has not said.
        """
        name, token = self._signing_out(request), request.form.get("logout_token", "")
        request.document = await self._sign_ins.proven(name, token, check)

    async def sign_out(self, request: Request) -> Response:
        """End what somebody has signed in for. Refuses: what was said before."""
        name, said = self._signing_out(request), request.document
        assert isinstance(said, SignOut)  # that is what was proven
        await self._sign_ins.sign_out(request.sender(), name, said)
        return Response(200, b"", FRESH)

    def _signing_out(self, request: Request) -> str:
        """The name of the provider that says it there. Refuses: not found."""
        asked = request.full_path.removesuffix("/")
        for one in self._sign_ins.providers:
            # Where it says who has signed out (OpenID Connect Back-Channel Logout 1.0).
            if asked == f"{PATH}/{one.name}/logout":
                return one.name
        raise not_found()

    async def link(self, request: Request) -> Response:
        """Link whom the provider has answered to be here with whoever asks, by their token.

        Refuses: forbidden to all but our own pages, and where the answer proves nothing;
        unauthenticated; as `SignIns.link`.
        """
        self._named(request)
        caller = request.require_caller()
        await self._sign_ins.calling(caller)
        try:
            kept = _kept(self._cookies.read(request, _ANSWER))
            await self._sign_ins.link(caller, kept.provider, self._answered(request, kept.said))
        except Unproven as unproven:
            tell(request.request_id, "link", unproven.reason)
            raise forbidden(_NOT_LINKED) from None
        gone = self._cookies.put(_ANSWER, "", seconds=0, same_site="Strict")
        return Response(204, b"", {**gone, **FRESH})

    def _named(self, request: Request) -> str:
        """The session that one of our pages means. Refuses: forbidden to all others."""
        named = request.header(_HEADER)
        origin = (request.header("origin") or "").lower()
        is_ours = origin == self._origin and request.header("sec-fetch-site") == "same-origin"
        if not is_ours or named is None:
            raise forbidden("Only the pages of this service may ask this.")
        return named

    def _answered(self, request: Request, said: Mapping[str, str]) -> Answered:
        device = device_of(request.header("user-agent") or "")
        cookie = self._cookies.read(request, _ATTEMPT)
        return Answered(said, cookie, device, counted_address(request.client))

    def _departing(self, name: str, *, links: bool = False) -> Handler:
        async def depart(request: Request) -> Response:
            attempt = self._sign_ins.attempt(name, links=links)
            try:
                place = await self._sign_ins.departure(name, attempt)
            except Unproven as unproven:
                return _failed(request, name, unproven)
            kept = self._cookies.put(
                _ATTEMPT, attempt.cookie, seconds=ATTEMPT_SECONDS, same_site="Lax"
            )
            return Response(302, b"", {"Location": place, **kept, **FRESH})

        return depart

    def _arriving(self, name: str) -> Handler:
        async def arrive(request: Request) -> Response:
            said = dict(request.query)
            answered = self._answered(request, said)
            try:
                if len(said) < len(request.query):
                    raise Unproven("a parameter that is sent twice")
                if self._sign_ins.links(name, answered):
                    return self._keeping(name, said)
                secret = await self._sign_ins.arrive(request.sender(), name, answered)
            except Unproven as unproven:
                return _failed(request, name, unproven)
            except Refusal as refusal:
                return _refused(request, name, refusal)
            ARRIVALS.add(_DONE)
            kept = self._cookies.put(_SESSION, secret, seconds=_SESSION_SECONDS, same_site="Strict")
            return Response(303, b"", {"Location": _HOME, **kept, **FRESH})

        return arrive

    def _keeping(self, name: str, said: Mapping[str, str]) -> Response:
        """Leads back to the page that asks for the link. Raises Unproven: it is too long."""
        parts = {part: said[part] for part in ("state", "code", "iss", "error") if part in said}
        cookie = encoded(msgspec.json.encode(Kept(name, parts)))
        if len(cookie) > _LONGEST_COOKIE:
            raise Unproven("an answer that no cookie has room for")
        kept = self._cookies.put(_ANSWER, cookie, seconds=ATTEMPT_SECONDS, same_site="Strict")
        return Response(303, b"", {"Location": _TOKENS, **kept, **FRESH})


def _kept(cookie: str | None) -> Kept:
    """What a cookie has of an answer. Raises Unproven."""
    try:
        return msgspec.json.decode(decoded(cookie or ""), type=Kept)
    except (ValueError, RecursionError, Malformed):
        raise Unproven("no answer of a provider, or one of too long ago") from None


def _failed(request: Request, name: str, unproven: Unproven) -> Response:
    ARRIVALS.add(_UNPROVEN)
    tell(request.request_id, name, unproven.reason)
    return _page(request, STATUS[forbidden("").kind], _AGAIN)


def _refused(request: Request, name: str, refusal: Refusal) -> Response:
    said = " ".join(fault.detail for fault in refusal.faults)
    ARRIVALS.add(_REFUSED)
    tell(request.request_id, name, said)
    return _page(request, STATUS[refusal.kind], said)


def _page(request: Request, status: int, said: str) -> Response:
    content = (
        f"<main>\n<h1>You are not signed in</h1>\n<p>{escape(said)}</p>\n"
        f"<p>Id: <code>{escape(request.request_id)}</code></p>\n"
        f'<p><a href="{_HOME}">Back to signing in</a></p>\n</main>'
    )
    return pages.notice(status, "Not signed in", content)
