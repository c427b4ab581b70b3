"""Where a command runs, and who says so: the issuer of the job's tokens, or the machine's own key.

A token is bound where its audience names the job's key. Then it is of no use to anybody else.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import msgspec

from teamvars.cli import named
from teamvars.cli.client.api import accounts
from teamvars.cli.client.api.accounts import Machine
from teamvars.cli.client.api.addresses import Address, address
from teamvars.cli.client.api.sending import Sending
from teamvars.cli.client.api.transport import Connection, Request, Travel
from teamvars.cli.commands import ID_TOKEN
from teamvars.cli.exits import Failure
from teamvars.kernel import Discreet

GITHUB = "GitHub Actions"
TOKEN_FILE = f"{ID_TOKEN}_FILE"
_GITHUB_URL, _GITHUB_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_CLUSTER = "KUBERNETES_SERVICE_HOST"
_MOUNTED = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_ACCOUNT = "system:serviceaccount:"
_LIFE = 600
"""Seconds: the least that Kubernetes gives a token."""
_MOST_BYTES = 64 * 1024


class Proof(Discreet, frozen=True):
    """A token that says what the job is. `is_bound`: it names the key of the job."""

    token: str
    is_bound: bool


class Here(NamedTuple):
    """What a command sees of where it runs, and the service that it goes to."""

    environment: Mapping[str, str]
    service: Address
    travel: Travel


class Asked(NamedTuple):
    """What a job asks for: the values of a workspace by its id; of `only` these keys, if any.

    `pins`: the service's keys, as `server-key show` prints them.
    """

    service: Address
    travel: Travel
    workspace_id: str
    only: Sequence[str]
    pins: str


class Place(NamedTuple):
    """Where a command runs. `proofs` are tokens for a key with that thumbprint, each good once:
    one, or where nothing is bound all that were given.
    """

    name: str
    proofs: Callable[[str], Iterator[Proof]]


def place(here: Here) -> Place | None:
    """Where this runs; None where nobody but a person can say who they are."""
    kinds = (_github, _given, _buildkite, _circleci, _kubernetes, _machine)
    return next((found for kind in kinds if (found := kind(here)) is not None), None)


def lacking(here: Here) -> str | None:
    """What gives a job its token, where this is one that has none; None: this is no such place."""
    known = {
        "GITHUB_ACTIONS": "This job of GitHub Actions may ask for no token. Give it 'permissions: "
        "{id-token: write}'; one of a pull request from a fork has none.",
        "GITLAB_CI": "This job of GitLab CI has no token. Give it "
        f"'id_tokens: {{{ID_TOKEN}: {{aud: \"{here.service}\"}}}}'.",
        _CLUSTER: "This pod has no token of its service account. Mount that, or one for "
        f"{here.service}, and name its file in {TOKEN_FILE}.",
    }
    return next((told for name, told in known.items() if here.environment.get(name)), None)


def _github(here: Here) -> Place | None:
    url, token = here.environment.get(_GITHUB_URL), here.environment.get(_GITHUB_TOKEN)
    if not url or not token:
        return None

    def proofs(thumbprint: str) -> Iterator[Proof]:
        audience = quote(_audience(here, thumbprint), safe="")
        whole = f"{url}{'&' if '?' in url else '?'}audience={audience}"
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        answer = _asked(GITHUB, whole, here.travel, Request("GET", "", headers, None))
        yield Proof(_text(GITHUB, answer, "value"), is_bound=True)

    return Place(GITHUB, proofs)


def _given(here: Here) -> Place | None:
    """Tokens that whoever wrote the job has put there: their audience is the service alone."""
    names = [name for name in sorted(here.environment) if is_id_token(name) and name != TOKEN_FILE]
    tokens = [here.environment[name].strip() for name in names]
    if not any(tokens):
        return None
    name = "GitLab CI" if here.environment.get("GITLAB_CI") == "true" else ID_TOKEN
    return Place(name, lambda _: (Proof(token, is_bound=False) for token in tokens if token))


def _buildkite(here: Here) -> Place | None:
    words = ("buildkite-agent", "oidc", "request-token", "--audience")
    if here.environment.get("BUILDKITE") != "true":
        return None
    return _by_program("Buildkite", here, lambda audience: (*words, audience))


def _circleci(here: Here) -> Place | None:
    if here.environment.get("CIRCLECI") != "true":
        return None

    def words(audience: str) -> tuple[str, ...]:
        claims = msgspec.json.encode({"aud": audience}).decode()
        return ("circleci", "run", "oidc", "get", "--claims", claims)

    return _by_program("CircleCI", here, words)


def _kubernetes(here: Here) -> Place | None:
    """A pod: bound where its service account may ask for tokens of its own, else what is mounted
    for the service.
    """
    projected = here.environment.get(TOKEN_FILE)
    host = here.environment.get(_CLUSTER)
    if not projected and not (host and (_MOUNTED / "token").exists()):
        return None
    name = "Kubernetes"

    def proofs(thumbprint: str) -> Iterator[Proof]:
        try:
            if not host:
                raise Failure(f"{TOKEN_FILE} is set, and this is no pod.")
            yield Proof(_requested(here, thumbprint), is_bound=True)
        except Failure as failure:
            if not projected:
                raise Failure(
                    f"{failure} Let the service account create 'serviceaccounts/token' of its "
                    f"own, or mount a token for {here.service} and name its file in {TOKEN_FILE}."
                ) from None
            yield Proof(_read(Path(projected)), is_bound=False)

    return Place(name, proofs)


def _machine(here: Here) -> Place | None:
    if str(here.service) not in accounts.read_at_home(Machine).addresses:
        return None

    def proofs(thumbprint: str) -> Iterator[Proof]:
        # Only here: what signs takes a while to load.
        sign = named("teamvars.cli.client.machines:assertion")
        yield Proof(sign(_audience(here, thumbprint)), is_bound=True)

    return Place("The key of this machine", proofs)


def is_id_token(name: str) -> bool:
    """Whether a variable of that name holds a token of the job, or says where one is."""
    return name.startswith(ID_TOKEN)


def _requested(here: Here, thumbprint: str) -> str:
    """A token of the pod's own service account (TokenRequest of Kubernetes)."""
    own = _read(_MOUNTED / "token")
    namespace, _, account = _subject(own).removeprefix(_ACCOUNT).partition(":")
    host, port = (here.environment.get(f"KUBERNETES_SERVICE_{n}", "") for n in ("HOST", "PORT"))
    bracketed = f"[{host}]" if ":" in host else host
    path = f"/api/v1/namespaces/{quote(namespace)}/serviceaccounts/{quote(account)}/token"
    wanted = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [_audience(here, thumbprint)], "expirationSeconds": _LIFE},
    }
    headers = {
        "Accept": "application/json",
        "Authorization": f"Bearer {own}",
        "Content-Type": "application/json",
    }
    request = Request("POST", "", headers, msgspec.json.encode(wanted))
    travel = here.travel._replace(authority=str(_MOUNTED / "ca.crt"), by_environment=False)
    answer = _asked("Kubernetes", f"https://{bracketed}:{port or 443}{path}", travel, request)
    status = answer.get("status") if isinstance(answer, dict) else None
    return _text("Kubernetes", status, "token")


def _subject(token: str) -> str:
    """Whose token it is, by what it says itself: whoever is asked next looks for themselves."""
    part = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        said: Any = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        subject = said["sub"]
    except (ValueError, TypeError, KeyError, RecursionError):
        subject = ""
    if not isinstance(subject, str) or not subject.startswith(_ACCOUNT):
        raise Failure("The token of this pod is not that of a service account.")
    return subject


def _by_program(name: str, here: Here, words: Callable[[str], tuple[str, ...]]) -> Place:
    """A place whose own program asks for the token, and prints it."""

    def proofs(thumbprint: str) -> Iterator[Proof]:
        # Only here: what runs programs takes a while to load.
        printed = named("teamvars.cli.client.programs:printed")
        said = printed(name, words(_audience(here, thumbprint)), here.environment.get("PATH"))
        yield Proof(said, is_bound=True)

    return Place(name, proofs)


def _audience(here: Here, thumbprint: str) -> str:
    return f"{here.service}#{thumbprint}"


def _asked(name: str, url: str, travel: Travel, request: Request) -> Any:
    """What an issuer answers at that URL. Fails where it is none that was asked for."""
    parts = urlsplit(url)
    at = address(f"{parts.scheme}://{parts.netloc}", name)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    with closing(Connection(at, travel)) as connection:
        # Another token does no harm: each is for this job's key, and good for a few minutes.
        reply = Sending(connection, request._replace(path=path), changes=False).answer()
    if not 200 <= reply.status < 300:
        raise Failure(f"{name} gives this job no token: it answered {reply.status}.")
    try:
        return msgspec.json.decode(reply.body)
    except (ValueError, RecursionError):
        return None


def _text(name: str, answer: Any, member: str) -> str:
    found = answer.get(member) if isinstance(answer, dict) else None
    if not isinstance(found, str) or not found:
        raise Failure(f"{name} answered without a token.")
    return found


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode().strip()
    except (OSError, UnicodeDecodeError):
        raise Failure(f"The token in {path} cannot be read.") from None
