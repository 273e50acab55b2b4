"""What a benchmark refuses with."""

from broker_project.lib.errors import BrokerError


class NotMeasured(BrokerError):
    """A scenario could not be measured."""
