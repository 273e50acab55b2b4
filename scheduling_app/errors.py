"""What can be said against a message for later, whoever asks."""

from broker_project.lib.errors import BrokerError


class UnknownScheduledMessage(BrokerError):
    """This channel has no scheduled message with this id."""

    status = 404


class AlreadyDispatched(BrokerError):
    """This message was dispatched already."""

    status = 409


class AlreadyCancelled(BrokerError):
    """This message was cancelled."""

    status = 409


class SetAside(BrokerError):
    """This message could not be dispatched and was set aside."""

    status = 409


class UnknownSchedule(BrokerError):
    """This channel has no schedule with this id."""

    status = 404


class InvalidCron(BrokerError):
    """A cron expression has five fields, with a blank between: minute, hour, day, month, weekday."""


class NeverTicks(BrokerError):
    """This schedule never ticks: there is no such time between its start and its end, within ten years from now."""
