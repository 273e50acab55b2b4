"""Where we may connect to: not into our own network, unless a range of it is allowed."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


# Global by the book, and yet ways into somebody's own network: translations, tunnels, relics.
_ODD: tuple[Network, ...] = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96", "fec0::/10", "5f00::/16"),
        *("192.0.0.0/24", "192.88.99.0/24"),
    )
)


class EgressDenied(OSError):
    """The address is not one that messages may be sent to."""


@dataclass(frozen=True)
class Egress:
    """`allowed` holds CIDRs, as in EGRESS_ALLOW."""

    allowed: tuple[Network, ...]

    def permits(self, address: str) -> bool:
        """Judges the address that is about to be connected to, whatever name or redirect led there."""
        final = _plain(ipaddress.ip_address(address))
        if any(final in network for network in self.allowed if final.version == network.version):
            return True
        return (
            final.is_global
            and not final.is_multicast
            and not any(final in net for net in _ODD if net.version == final.version)
        )


def allowed_from(texts: Iterable[str]) -> Egress:
    return Egress(tuple(ipaddress.ip_network(text.strip(), strict=False) for text in texts if text.strip()))


def _plain(address: Address) -> Address:
    """An IPv4 address in IPv6 clothes is judged as what it is."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or (address.sixtofour or address)
    return address


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)
