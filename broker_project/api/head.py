"""How large a request's target and headers may be."""

from itertools import chain

from asgiref.typing import HTTPScope
from django.conf import settings

from broker_project.lib.errors import BrokerError


class TargetTooLong(BrokerError):
    """The path and query together are too long."""

    status = 414


class HeadersTooLarge(BrokerError):
    """The request headers together are too large."""

    status = 431


def check_head(scope: HTTPScope) -> None:
    if len(scope["raw_path"] or b"") + len(scope["query_string"]) + 1 > settings.MAX_TARGET_BYTES:
        raise TargetTooLong(f"The path and query together are longer than {settings.MAX_TARGET_BYTES} bytes.")
    headers = list(scope["headers"])
    if sum(map(len, chain.from_iterable(headers))) + 4 * len(headers) > settings.MAX_HEADER_BYTES:
        raise HeadersTooLarge(f"The headers together are larger than {settings.MAX_HEADER_BYTES} bytes.")
