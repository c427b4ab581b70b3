"""The proxy on the way to a service, where the user has said that the environment names one."""

import base64
import re
from collections.abc import Mapping
from ipaddress import ip_network
from urllib.parse import unquote, urlsplit

from teamvars.cli.client.addresses import Address, host_of, ip_of
from teamvars.cli.exits import USAGE
from teamvars.cli.failures import Failure
from teamvars.domain.discreet import Discreet

ENVIRONMENT = "environment"
"""What `--proxy` and TEAMVARS_PROXY say: HTTPS_PROXY and NO_PROXY count."""
_NAMES = ("https_proxy", "HTTPS_PROXY")
"""The first that says something counts, as for curl."""
_EXCEPTIONS = ("no_proxy", "NO_PROXY")
_PORT = 80
_WITH_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[^:]+):(\d+)")


class Proxy(Discreet, frozen=True):
    """An HTTP proxy. `authorization` is what it wants to hear, where the URL has a user."""

    host: str
    port: int
    authorization: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def proxy_for(address: Address, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment wants for an address; none on the way to this host.

    Fails on what is no URL of an HTTP proxy, without showing it: it may hold a password.
    """
    # What is not encrypted stays on this host, so no proxy ever sees a token.
    if address.is_loopback or _is_excepted(address, _first(environment, _EXCEPTIONS)):
        return None
    given = _first(environment, _NAMES)
    return _parsed(given) if given else None


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _parsed(text: str) -> Proxy:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = host_of(parts.hostname or ""), parts.port or _PORT
    except ValueError:
        raise _is_none() from None
    if host is None or parts.scheme != "http" or not text.isprintable():
        raise _is_none()
    return Proxy(host, port, _authorization(parts.username, parts.password))


def _is_none() -> Failure:
    return Failure("HTTPS_PROXY is no URL of an HTTP proxy, such as http://host:3128.", USAGE)


def _authorization(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    said = f"{unquote(user)}:{unquote(password or '')}"
    return f"Basic {base64.b64encode(said.encode()).decode()}"


def _is_excepted(address: Address, text: str) -> bool:
    entries = re.split(r"[,\s]+", text.lower())
    return any(_names(entry, address) for entry in entries if entry)


def _names(entry: str, address: Address) -> bool:
    """Whether an entry of NO_PROXY means the address: `*`, a domain and all below it, an IP
    address or network, each with or without a port."""
    if found := _WITH_PORT.fullmatch(entry):
        entry, port = found[1].strip("[]"), int(found[2])
        if port != address.port:
            return False
    if entry == "*":
        return True
    if (ip := ip_of(address.host)) is None:
        name = entry.removeprefix("*").strip(".")
        return address.host == name or address.host.endswith(f".{name}")
    try:
        return ip in ip_network(entry, strict=False)
    except ValueError:
        return False
