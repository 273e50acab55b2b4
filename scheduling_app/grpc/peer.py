"""The address at the other end, as gRPC writes it: ipv4:127.0.0.1:5000 or ipv6:[::1]:5000."""

from urllib.parse import unquote


def peer_of(written: str) -> str:
    """With its port."""
    return unquote(written).partition(":")[2] or written


def address_of(written: str) -> str:
    """Without it."""
    return peer_of(written).rpartition(":")[0].strip("[]") or written
