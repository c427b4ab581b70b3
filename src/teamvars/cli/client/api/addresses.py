"""Addresses of services, and the proxy on the way where the user says that there is one."""

import base64
import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from teamvars.cli.exits import Failure, Misuse
from teamvars.kernel import Discreet

_HOST = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_BRACKETS = re.compile(r"[^\[\]]*|([A-Za-z]+://)?\[[0-9A-Fa-f:.]+\](:[0-9]*)?/?")
"""None, or an IPv6 address between them and nothing around them but a scheme and a port."""

_PORTS = {"https": 443, "http": 80}
_LOOPBACK = "localhost"
ENVIRONMENT = "environment"
"""What `--proxy` and TEAMVARS_PROXY say: HTTPS_PROXY and NO_PROXY count."""
_NAMES = ("https_proxy", "HTTPS_PROXY")
"""The first that says something counts, as for curl."""
_EXCEPTIONS = ("no_proxy", "NO_PROXY")
_PORT = 80
_WITH_PORT = re.compile(r"(\[[0-9a-f:.]+\]|[^:]+):(\d+)")


class Address(NamedTuple):
    """Scheme, host and port of a service, each in the one spelling it has here."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self._bracketed}{port}"

    @property
    def authority(self) -> str:
        """Host and port, the port always said."""
        return f"{self._bracketed}:{self.port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this host, whatever a resolver says."""
        ip = ip_of(self.host)
        return ip.is_loopback if isinstance(ip, IPv4Address) else self.host in (_LOOPBACK, "::1")


def address(text: str, origin: str) -> Address:
    """The address that a text means; `origin` says where it stood. Fails on any other text.

    Two texts mean the same place exactly when they have the same address. Without a scheme it is
    https; http is for this host alone, since it would show the token to everybody on the way.
    """
    found = _parsed(text)
    if found is None:
        raise Misuse(
            f"The address from {origin} is not one. It is a scheme, a host and a port, such as "
            "https://teamvars.example.com:8443, without user, path or query."
        )
    if found.scheme == "http" and not found.is_loopback:
        raise Misuse(
            f"{found} (from {origin}) would show the token to everybody on the way. Use https://; "
            "http:// is only for this host (127.0.0.1, ::1, localhost)."
        )
    return found


def _parsed(text: str) -> Address | None:
    # First of all: `urlsplit` drops line ends and tabs, and what is left would be another address.
    if not text.isprintable() or " " in text or "\\" in text:
        return None
    # It also passes over what stands around square brackets, and takes other things between them.
    if not _BRACKETS.fullmatch(text):
        return None
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host, port = host_of(parts.hostname or ""), parts.port
    except ValueError:
        return None
    more = parts.path.removeprefix("/") + parts.query + parts.fragment
    if host is None or parts.scheme not in _PORTS or port == 0 or "@" in parts.netloc or more:
        return None
    return Address(parts.scheme, host, port or _PORTS[parts.scheme])


def host_of(text: str) -> str | None:
    """The one spelling of a host; None where it is none."""
    ip = ip_of(text)
    if ip is not None:
        return None if getattr(ip, "scope_id", None) else str(ip)
    ascii_ = text if text.isascii() else text.encode("idna").decode()
    name = ascii_.lower().removesuffix(".")
    # What ends in a number is an address to a resolver, in spellings such as 0x7f.1 or 2130706433.
    is_number = re.fullmatch(r"0x[0-9a-f]*|\d+", name.rpartition(".")[2]) is not None
    return None if is_number or len(name) > 253 or not _HOST.fullmatch(name) else name


def ip_of(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is given by; None where it is a name."""
    try:
        return ip_address(text)
    except ValueError:
        return None


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
    entries = re.split(r"[,\s]+", _first(environment, _EXCEPTIONS).lower())
    if address.is_loopback or any(_names(entry, address) for entry in entries if entry):
        return None
    given = _first(environment, _NAMES)
    return _proxy(given) if given else None


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _proxy(text: str) -> Proxy:
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = host_of(parts.hostname or ""), parts.port or _PORT
    except ValueError:
        raise _is_none() from None
    if host is None or parts.scheme != "http" or not text.isprintable():
        raise _is_none()
    authorization = None
    if parts.username is not None:
        said = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(said.encode()).decode()}"
    return Proxy(host, port, authorization)


def _is_none() -> Failure:
    return Misuse("HTTPS_PROXY is not the URL of an HTTP proxy, such as http://host:3128.")


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
