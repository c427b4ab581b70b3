"""What the service says of itself, most of it to callers without a token as well.

`/` says what this is and where the rest is, as JSON for programs; people are led to the console,
and get a page where there is none. Clients find the API and learn its version, load balancers
whether it can do its work, and everybody what is deprecated.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from teamvars import __version__
from teamvars.domain.errors import Code, Fault, Refusal, storage_unavailable
from teamvars.metrics.exposition import PATH as METRICS
from teamvars.metrics.exposition import Exposition
from teamvars.services.installation import Readiness
from teamvars.services.users import Users
from teamvars.storage.database import NotReady
from teamvars.web.dialects import Dialect
from teamvars.web.http import openapi, pages
from teamvars.web.http.negotiation import JSON, prefers_html
from teamvars.web.http.parameters import Parameter
from teamvars.web.http.request import Request
from teamvars.web.http.routes import Handler, Route
from teamvars.web.http.sending import FRESH, Response
from teamvars.web.variables.routes import DEPRECATIONS

_API = "/api/v2/"
_SERVICES = {
    "tfe.v2": _API,
    "tfe.v2.1": _API,
    "tfe.v2.2": _API,
    "modules.v1": "/api/registry/v1/modules/",
}
# The last is what clients go by before they ask for limits of tokens.
_VERSION = {
    "TFP-API-Version": "2.6",
    "TFP-AppName": "teamvars",
    "X-TFE-Current-Version": "2.0.1",
}
_FRESH_JSON = {"Content-Type": JSON, **FRESH}


WRITES = Parameter(
    "writes",
    "With `required` the answer is 503 as well while changes cannot be committed.",
    {"type": "string", "enum": ["required"]},
)
_STYLE = (
    "body{font:1em/1.5 system-ui,sans-serif;max-width:40em;margin:3em auto;padding:0 1em}"
    "code{background:#8882;padding:.1em .3em}:root{color-scheme:light dark}"
)
_CONTENT = f"""<h1>teamvars {__version__}</h1>
<p>This service keeps the variables of workspaces and the members of teams. It is for programs and
the command line; there is nothing to log in to here.</p>
<ul>
<li><code>/api/v2</code> is the API (JSON:API 1.1); every request carries
<code>Authorization: Bearer TOKEN</code>.</li>
<li><a href="{openapi.PATH}">{openapi.PATH}</a> describes all of it (OpenAPI 3.1).</li>
<li><a href="{DEPRECATIONS}">{DEPRECATIONS}</a> says what will go away.</li>
<li><a href="/readyz">/readyz</a> says whether it can do its work.</li>
</ul>
<p>Whoever runs this service hands out tokens. The rest of its documents, <code>docs/api.md</code>
first, come with its source.</p>"""
_PAGE = pages.page("teamvars", _CONTENT, style=_STYLE)
_HEADERS = {"Vary": "Accept", **_PAGE.headers}
_MARKDOWN = "text/markdown"
_DEPRECATED = b"""# Deprecated

## `filter.workspace.name` and `filter.organization.name` on creating a variable

Deprecated since 0.1.0 (2026-11-21), and to be removed from future versions.

The path names the workspace already. Leave `filter` out, or say the same with a relationship:

    {"data": {"type": "vars", "relationships": {"configurable": {
        "data": {"type": "workspaces", "id": "ws-..."}}}, ...}}
"""


_get = partial(Route, "GET", public=True)


class Index(msgspec.Struct):
    """What this is, and the paths a program begins with.

    `categories` are those of variables as this server names them, the service's own first.
    """

    categories: Sequence[str]
    name: str = "teamvars"
    version: str = __version__
    api: str = "/api/v2"
    openapi: str = openapi.PATH
    deprecations: str = DEPRECATIONS
    health: str = "/healthz"
    readiness: str = "/readyz"


class ServiceDiscovery(msgspec.Struct):
    """Where each service is; every path ends in a slash, since clients join to it."""

    tfe_v2: str = msgspec.field(name="tfe.v2")
    tfe_v2_1: str = msgspec.field(name="tfe.v2.1")
    tfe_v2_2: str = msgspec.field(name="tfe.v2.2")
    modules_v1: str = msgspec.field(name="modules.v1")


class Health(msgspec.Struct, omit_defaults=True):
    """What a health check says when all is well. `writes` is there while they are unavailable,
    `clock` while this host's is not the store's.
    """

    status: str
    writes: str | UnsetType = UNSET
    clock: str | UnsetType = UNSET


def routes(readiness: Readiness, dialect: Dialect, console: str | None) -> list[Route]:
    """One row an operation, all public; `console` is the path of the console, if there is one."""
    deprecated = Response(200, _DEPRECATED, {"Content-Type": f"{_MARKDOWN}; charset=utf-8"})
    return [
        *_health(readiness),
        _get(
            DEPRECATIONS,
            _always(deprecated),
            {200: str},
            media_type=_MARKDOWN,
            text="Read what is deprecated.",
            name="readDeprecations",
        ),
        _index(dialect, console),
    ]


def discovery_routes() -> list[Route]:
    """How clients find the API and learn its version."""
    return [
        _get(
            "/.well-known/terraform.json",
            _always(Response.document(200, _SERVICES, media_type=JSON)),
            {200: ServiceDiscovery},
            media_type=JSON,
            text="Say where the API is (Terraform's remote service discovery).",
            name="discoverServices",
        ),
        _get(
            "/api/v2/ping",
            _always(Response(204, headers=_VERSION)),
            {204: None},
            sends=dict.fromkeys(_VERSION, ""),
            text="Say which version of the API this is.",
            name="ping",
        ),
    ]


def _index(dialect: Dialect, console: str | None) -> Route:
    index = msgspec.json.encode(Index(list(dialect.categories.values())))
    responses: dict[int, type | None] = {200: Index}
    page = Response(200, _PAGE.body, {"Content-Type": pages.TYPE, **_HEADERS})
    if console is not None:
        responses[302] = None
        page = Response(302, b"", {"Location": f"{console}/", **_HEADERS})

    async def read(request: Request) -> Response:
        """Say what this is; a browser is led to the console where there is one."""
        if prefers_html(request.header("accept")):
            return page
        return Response(200, index, {"Content-Type": JSON, **_HEADERS})

    sends = dict.fromkeys(_HEADERS, "")
    return _get("/", read, responses, sends=sends, media_type=JSON, has_page=True, name="readIndex")


def _health(readiness: Readiness) -> list[Route]:
    """They say yes or no and nothing else."""

    async def ready(request: Request) -> Response:
        """Storage is reachable and migrated, and the keyring is its own. Refuses otherwise.

        The answer may be a second old. While changes cannot be committed it says so, and refuses
        whom `writes=required` says to need them.
        """
        wanted = set(filter(None, request.values(WRITES.name)))
        if wanted - {"required"}:
            detail = "writes is 'required' or not there."
            raise Refusal(Fault(Code.INVALID_PARAMETER, detail, parameter=WRITES.name))
        try:
            await readiness.require()
        except NotReady:
            raise storage_unavailable() from None
        health = Health("ready")
        if not readiness.takes_writes:
            if wanted:
                raise storage_unavailable()
            health.writes = "unavailable"
        if off := readiness.clock_is_off:
            health.clock = f"{abs(off)} s {'ahead' if off > 0 else 'behind'}"
        return Response(200, msgspec.json.encode(health), _FRESH_JSON)

    check = partial(_get, responses={200: Health}, media_type=JSON)
    alive = _always(Response(200, b'{"status":"ok"}', _FRESH_JSON))
    return [
        check("/healthz", alive, text="The process answers.", name="checkHealth"),
        check("/readyz", ready, name="checkReadiness", refuses=(400, 503), reads=(WRITES,)),
    ]


def _always(response: Response) -> Handler:
    async def respond(_: Request) -> Response:
        return response

    return respond


def metrics_routes(users: Users, exposition: Exposition) -> list[Route]:
    """`/metrics` beside the API, for site admins: the same that the port for scrapes shows."""

    async def read(request: Request) -> Response:
        """Read what the processes of this server have counted, as text for Prometheus.

        Whoever accepts OpenMetrics gets that.
        """
        await users.require_site_admin(request.require_caller())
        body, media_type = exposition.text(request.header("accept") or "")
        return Response(200, body, {"Content-Type": media_type, **FRESH})

    return [
        Route(
            "GET",
            METRICS,
            read,
            {200: str},
            may_forbid=True,
            media_type="text/plain",
            is_plain=True,
            name="readMetrics",
            tag="Service",
        )
    ]
