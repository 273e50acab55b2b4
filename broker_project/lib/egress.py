"""Where we may connect to: not into our own network, unless a range or a host of it is allowed."""

import ipaddress
import re
import socket
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
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
# The last label begins with no digit: 10.0.0, 127.1 and 0x7f.1 are addresses, not names.
_HOST = re.compile(rf"(?:\*\.)?(?:{_LABEL}\.)*(?![0-9]){_LABEL}")
_LOOPBACK = ("127.0.0.1", "::1")


class EgressDenied(OSError):
    """The address is not one that messages may be sent to."""


@dataclass(frozen=True)
class Egress:
    """What EGRESS_ALLOW allows: ranges of addresses, hosts by name, and all hosts below a name."""

    networks: tuple[Network, ...] = ()
    hosts: frozenset[str] = frozenset()
    parents: tuple[str, ...] = ()

    def permits(self, address: str) -> bool:
        """Judges the address that is about to be connected to, whatever name or redirect led there."""
        final = _plain(ipaddress.ip_address(address))
        return _within(final, self.networks) or (
            final.is_global and not final.is_multicast and not _within(final, _ODD)
        )

    def names(self, host: str) -> bool:
        """Whether a host is allowed by its name, wherever that leads."""
        name = _name(host)
        return name in self.hosts or name.endswith(self.parents)

    def may_register(self, host: str) -> bool:
        """What can be told of a host without looking it up; other names are judged when they are connected to."""
        name = _name(host)
        if self.names(name):
            return True
        if name == "localhost" or name.endswith(".localhost"):
            return any(map(self.permits, _LOOPBACK))
        address = _literal(name)
        return address is None or self.permits(address)


def allowed_from(texts: Iterable[str]) -> Egress:
    """Reads EGRESS_ALLOW. Raises ValueError for an entry that is none of what it may be."""
    networks, hosts, parents = [], set(), []
    for text in filter(None, (text.strip().lower() for text in texts)):
        network = _network(text)
        if network is not None:
            networks.append(network)
        elif text.startswith("*."):
            parents.append(text[1:])
        else:
            hosts.add(text)
    return Egress(tuple(networks), frozenset(hosts), tuple(parents))


def _network(text: str) -> Network | None:
    """None for a host's name."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        if _HOST.fullmatch(text):
            return None
        raise ValueError(
            f"{text!r} is neither a range (10.1.0.0/16), nor an address, nor a host (hooks.example.internal or "
            "*.example.internal, without scheme and port)"
        ) from error


def _name(host: str) -> str:
    return host.lower().rstrip(".")


def _literal(name: str) -> str | None:
    """The address that a host's text is, in any of the spellings that look-ups take: 2130706433, 0x7f.1, 127.1."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return None


def _plain(address: Address) -> Address:
    """An IPv4 address in IPv6 clothes is judged as what it is."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or (address.sixtofour or address)
    return address


def _within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)
