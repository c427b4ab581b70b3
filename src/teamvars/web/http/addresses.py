"""The addresses of clients: whose is believed, and what they count as."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

_CACHED = 4096
_INTERFACE_BITS = 64
"""Of an IPv6 address. Whoever has a network has all of these."""


class ClientAddresses:
    """Where requests come from, behind proxies that are trusted.

    `are_audited`: whether the audit trail keeps them.
    """

    def __init__(
        self,
        trusted_proxies: Sequence[IPv4Network | IPv6Network] = (),
        *,
        are_audited: bool = True,
    ) -> None:
        self._trusted_proxies = trusted_proxies
        self._is_trusted = lru_cache(_CACHED)(self._is_of_trusted_network)
        self.are_audited = are_audited

    def of(self, peer: str, forwarded: str) -> str:
        """The nearest address that is no trusted proxy's; only what those have `forwarded` counts.

        Its characters are printable: it goes into the log and the audit trail.
        """
        address, further = peer, forwarded.split(",")
        while further and self._is_trusted(address):
            nearer = further.pop().strip()[:45]
            if not (nearer and nearer.isprintable()):
                break
            address = nearer
        return address

    def _is_of_trusted_network(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped  # as a listener of both has it
        return any(parsed in network for network in self._trusted_proxies)


@lru_cache(_CACHED)
def counted_address(address: str | None) -> str:
    """What a client's address counts as: an IPv6 address as its network of 64 bits.

    An IPv4 address in the form of IPv6, as a listener of both has it, is that IPv4 address. Where
    there is none, or what a proxy sent is none, all are one.
    """
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return ""
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    network = int(parsed) >> _INTERFACE_BITS << _INTERFACE_BITS
    return f"{IPv6Address(network)}/{128 - _INTERFACE_BITS}"
