"""The doors and Django in processes of their own: each sends away what is the other's business.

A proxy knows who answers what (broker_project/proxy_routes.py). Who gets a 421 has come past it, or its table is old.
"""

from collections.abc import Iterable
from dataclasses import replace

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError


class Misdirected(BrokerError):
    """This process does not answer that address. The proxy in front of it sends such requests to another."""

    status = 421


def closed(routes: Iterable[Route]) -> tuple[Route, ...]:
    """The same addresses and manners, but nobody is at home."""
    return tuple(replace(route, handler=_send_away, gate=None) for route in routes)


async def refuse(_scope: Scope, _receive: ASGIReceiveCallable, _send: ASGISendCallable) -> None:
    """In Django's place."""
    raise Misdirected


async def _send_away(_request: Request) -> Reply:
    raise Misdirected
