"""Messages for later: not yet. What a message says of its time is read here, at both doors."""

from broker_project.lib.errors import BrokerError


class NotSupportedYet(BrokerError):
    """Messages for later come with a later version: send this one without a time."""


def refuse_a_time(text: object) -> None:
    """A message that is meant for later must not go out now."""
    if text is not None:
        raise NotSupportedYet
