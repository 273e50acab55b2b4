"""Refusals of what is watched. The docstring is what the caller is told, the class name its stable code."""

from broker_project.lib.errors import BrokerError


class UnknownAlertState(BrokerError):
    """The state of alerts to list must be open or over."""
