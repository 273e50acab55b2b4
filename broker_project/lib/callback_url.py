"""What a callback URL may look like, and what can be told of where it leads before anybody connects."""

import re
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

from broker_project.lib.egress import Egress

MAX_LENGTH = 2048
_PLAIN = re.compile(r"[\x21-\x7e]+")


def check_callback_url(url: str) -> None:
    """Raise unless this is an absolute http or https URL that can be sent as it is."""
    if len(url) > MAX_LENGTH or not _PLAIN.fullmatch(url):
        raise ValidationError("A callback URL is up to 2048 visible ASCII characters.", code="invalid_url")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ValidationError("The callback URL cannot be read.", code="invalid_url") from error
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise ValidationError("A callback URL is absolute and begins with http:// or https://.", code="invalid_url")
    if parts.username is not None or parts.fragment:
        raise ValidationError("A callback URL carries no user name, password or fragment.", code="invalid_url")


def may_register(url: str, egress: Egress) -> bool:
    """Whether the host, as it is written, may be sent to. A name is not looked up here."""
    return egress.may_register(urlsplit(url).hostname or "")
