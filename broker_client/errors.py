"""What can go wrong, one class for each kind of answer; each docstring is what is said when the broker says nothing."""

from collections.abc import Mapping
from typing import Any


class BrokerError(Exception):
    """The broker did not do what was asked."""

    def __init__(
        self,
        status: int,
        code: str = "",
        detail: str = "",
        errors: tuple[Mapping[str, Any], ...] = (),
        *,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.detail = detail or str(type(self).__doc__)
        self.errors = errors
        self.retry_after_seconds = retry_after_seconds
        super().__init__(" ".join(filter(None, [str(status or ""), code, self.detail])))

    @property
    def is_passing(self) -> bool:
        """The same request may do better later."""
        return self.status in (0, 408, 429) or self.status >= 500


class Unreachable(BrokerError):
    """The broker did not answer."""


class Invalid(BrokerError):
    """The broker cannot take this as it is."""


class Unauthorized(BrokerError):
    """A token or an API key is missing or unknown."""


class Forbidden(Unauthorized):
    """The token or the API key does not open this."""


class NotFound(BrokerError):
    """There is no such thing."""


class Gone(NotFound):
    """It was there, and is no more."""


class Conflict(BrokerError):
    """It is not in a state in which this can be done."""


class PreconditionFailed(Conflict):
    """It was changed meanwhile, or the time is too near."""


class TooLarge(Invalid):
    """It is larger than the broker takes."""


class Limited(BrokerError):
    """A limit was reached."""


class Unavailable(BrokerError):
    """The broker cannot do this now."""


_BY_STATUS = {
    0: Unreachable,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    413: TooLarge,
    429: Limited,
}


def error_class(status: int) -> type[BrokerError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 400 <= status < 500:
        return Invalid
    return Unavailable if status >= 500 else BrokerError
