"""Are the ports free? Asked before anything is started, and answered with who has them."""

import errno
import socket

import psutil

from broker_project.lib.errors import BrokerError


class PortTaken(BrokerError):
    """A port that the broker needs is taken."""


def check(addresses: list[tuple[str, int]]) -> None:
    for host, port in addresses:
        try:
            _bind(host, port)
        except OSError as error:
            raise PortTaken(_explain(host, port, error)) from error


def _bind(host: str, port: int) -> None:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        # As the servers do: connections of the last run that still fade away are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        probe.listen(1)


def _explain(host: str, port: int, error: OSError) -> str:
    owner = _owner(port) if error.errno == errno.EADDRINUSE else ""
    taken = f"taken by {owner}" if owner else f"not to be had ({error.strerror})"
    return f"Port {port} of {host} is {taken}. Choose others with --port: P to P+3 are used."


def _owner(port: int) -> str:
    try:
        pids = [
            each.pid for each in psutil.net_connections("tcp") if each.laddr and each.laddr.port == port and each.pid
        ]
        return f"{psutil.Process(pids[0]).name()} (pid {pids[0]})" if pids else ""
    except psutil.Error:
        return ""
