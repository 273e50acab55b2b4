"""What can be said against a message for later, whoever asks."""

from broker_project.lib.errors import BrokerError


class DelayedMessagingDisabled(BrokerError):
    """This channel takes no messages for later."""


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


class AnotherProducersMessage(BrokerError):
    """Another producer has scheduled this message."""

    status = 403


class NothingToChange(BrokerError):
    """Say what is to be changed: scheduledFor, payload or payloadBase64, contentType, headers, priority."""


class UnknownSchedule(BrokerError):
    """This channel has no schedule with this id."""

    status = 404


class InvalidCron(BrokerError):
    """A cron expression has five fields, with a blank between: minute, hour, day, month, weekday."""


class ScheduleUnreadable(BrokerError):
    """This schedule cannot be read here: its time zone or its cron expression is not known to this broker."""

    status = 409


class NeverTicks(BrokerError):
    """This schedule never ticks: there is no such time between its start and its end, within ten years from now."""


class CronOrInterval(BrokerError):
    """A schedule has either a cron expression or an interval."""


class EndsBeforeStart(BrokerError):
    """A schedule does not end before it starts."""


class ScheduleIncomplete(BrokerError):
    """A new schedule needs a producer, a payload, and a cron expression or an interval."""


class InvalidScheduleId(BrokerError):
    """A schedule's id is 1 to 200 of A-Z a-z 0-9 . _ ~ -"""


class PayloadTooLarge(BrokerError):
    """The payload, with its words filled in, is larger than a message may be."""

    status = 413


class ScheduleProducerGone(BrokerError):
    """The producer in whose name this schedule sends is gone: give it another."""

    status = 409


class AlreadyRun(BrokerError):
    """This schedule was run in this very second."""

    status = 409
