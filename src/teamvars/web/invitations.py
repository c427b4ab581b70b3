"""The links of invitations: the page behind them, what a link opens, and accepting by it.

None takes a token. The page is the same for all: the secret is in the part of the URL that browsers
keep to themselves, and only the script sends it, in a body. Whatever the script shows is set as
text, and nothing happens before somebody presses the button.
"""

from pathlib import Path

from teamvars.domain.errors import Fault, refuse_all
from teamvars.domain.invitations import Invited
from teamvars.domain.tokens import NewToken
from teamvars.security.tokens import hash_token
from teamvars.services.invitations import InvitationLinks
from teamvars.web.examples import IDS
from teamvars.web.http import pages
from teamvars.web.http.idempotency import changed
from teamvars.web.http.negotiation import HTML
from teamvars.web.http.request import Request
from teamvars.web.http.resource_objects import REQUIRED, Attribute, Email, Time, timestamp
from teamvars.web.http.resources import Resource
from teamvars.web.http.routes import Route
from teamvars.web.http.sending import FRESH, Response
from teamvars.web.tokens import TOKEN

_FOLDER = Path(__file__).parent / "static"
_STYLE = (_FOLDER / "invitation.css").read_text(encoding="utf-8")
_SCRIPT = (_FOLDER / "invitation.js").read_text(encoding="utf-8")

_CONTENT = """<main>
<h1>Invitation</h1>
<noscript><p>This page needs JavaScript: the link's secret is for the script alone.</p></noscript>
<p id="message" role="status">One moment…</p>
<button id="accept" type="button" hidden>Accept the invitation</button>
<section id="token" hidden>
<h2>Your token</h2>
<p>It is shown only now. Keep it like a password.</p>
<code id="secret" tabindex="0"></code>
<button id="copy" type="button">Copy</button>
<p>Every request carries it: <code>Authorization: Bearer TOKEN</code>.</p>
</section>
</main>"""

_PAGE = pages.page("Invitation", _CONTENT, style=_STYLE, script=_SCRIPT)


def _secret(secret: str | None, faults: tuple[Fault, ...]) -> str:
    """The secret of a link. Refuses every fault of the document."""
    refuse_all(faults)
    assert secret is not None  # else there is a fault
    return secret


INVITED = Resource[Invited](
    type="invitations",
    name="Invited",
    noun="a link",
    tag="Service",
    new_name="Link",
    tagged=True,
    id=lambda one: one.membership_id,
    draft=_secret,
    attributes=(
        Attribute("secret", given=str, new=REQUIRED),
        Attribute("organization", str, lambda one: one.organization),
        Attribute("inviter", str | None, lambda one: one.inviter),
        Attribute("email", Email, lambda one: one.address),
        Attribute("expires-at", Time, lambda one: timestamp(one.expires_at, one.membership_id)),
        Attribute("first-token", bool, lambda one: one.first_token),
    ),
    texts={
        "LinkAttributes": "The part of a link behind `#`.",
        "LinkResource": "A link.",
        "LinkDocument": "What whoever holds a link sends.",
        "InvitedAttributes": (
            "Who invites whom where. `inviter` is null where no user did. With `first-token` "
            "accepting by the link ends with a token; without it the user accepts with one of "
            "their own."
        ),
        "InvitedResource": "What a link opens; its id is that of the membership.",
        "InvitedDocument": "What a link opens.",
    },
)
# Its secret comes in a body alone, never in a path or a query.
_LINK = INVITED.new_body(attributes={"secret": IDS["link_secret"]})
_ACTIONS = "/api/v2/invitations/actions"
_REFUSES = (400, 406, 408, 409, 413, 415, 422, 503)


def routes(links: InvitationLinks) -> list[Route]:
    """What whoever holds a link can do with it."""

    async def page(_: Request) -> Response:
        """Read the page that links open; it is the same for all of them."""
        return Response(200, _PAGE.body, {"Content-Type": pages.TYPE, **_PAGE.headers})

    async def show(request: Request) -> Response:
        """Say who invites whom where; the link stays as good as it was."""
        found = await links.show(INVITED.new_draft(request.document))
        return Response.document(200, INVITED.document(found), FRESH)

    async def accept(request: Request) -> Response:
        """Accept an invitation by its link: once, with a first token as the answer."""
        secret = INVITED.new_draft(request.document)
        request.caller = caller = request.sender(hash_token(secret))
        work = links.accept(caller, secret)
        return await changed(request, work, _accepted, made=lambda made: made.token.id)

    return [
        Route(
            "GET",
            "/invitations",
            page,
            {200: str},
            sends=dict.fromkeys(_PAGE.headers, ""),
            media_type=HTML,
            public=True,
            name="readInvitationPage",
        ),
        Route(
            "POST",
            f"{_ACTIONS}/show",
            show,
            {200: INVITED.one},
            takes=_LINK,
            refuses=_REFUSES,
            public=True,
            name="showInvitation",
        ),
        Route(
            "POST",
            f"{_ACTIONS}/accept",
            accept,
            {201: TOKEN.one},
            takes=_LINK,
            keyed=True,
            refuses=(403, *_REFUSES),
            public=True,
            name="acceptInvitationByLink",
        ),
    ]


def _accepted(made: NewToken) -> Response:
    return Response.document(201, TOKEN.document(made), {"Location": TOKEN.path_of(made)})
