"""Why no history was made."""

from broker_project.lib.errors import BrokerError


class NotEmpty(BrokerError):
    """This database has messages already. With --add the history is added to them."""

    status = 409


class SeedUsed(BrokerError):
    """This database has a history of this seed already: take another."""

    status = 409


class NothingToMake(BrokerError):
    """A history has at least one message and one day, and lies between 1970 and now; its seed is 0 to 2147483647."""
