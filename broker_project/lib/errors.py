"""Refusals: an error whose docstring is what the caller is told."""

import re
from typing import Any


class BrokerError(Exception):
    """The request could not be carried out."""

    status = 400
    # When to come back, where that can be said.
    retry_after_seconds: int | None = None

    def __init__(self, detail: str = "", *, errors: list[dict[str, str]] | None = None) -> None:
        self.detail = detail or " ".join((type(self).__doc__ or "").split())
        self.errors = errors or []
        # What else the problem document says.
        self.members: dict[str, Any] = {}
        super().__init__(self.detail)

    @property
    def code(self) -> str:
        """The stable name that clients match on: DuplicateMessage is duplicate_message."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()


class ServerError(BrokerError):
    """Something went wrong on our side. The log has it under this request id."""

    status = 500
