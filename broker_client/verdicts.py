"""What a function may raise to say more than that it failed."""

from datetime import UTC, datetime, timedelta


class Retry(Exception):
    """Try again later."""

    def __init__(self, error: str = "", *, at: datetime | None = None, in_seconds: float | None = None) -> None:
        if (at is None) == (in_seconds is None):
            raise ValueError("Give at or in_seconds.")
        if at is not None and at.tzinfo is None:
            raise ValueError("at needs a time zone.")
        self.at = at if in_seconds is None else datetime.now(UTC) + timedelta(seconds=in_seconds)
        super().__init__(error or str(self.__doc__))


class Reject(Exception):
    """This job is not wanted: it is dead at once."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error or str(self.__doc__))
