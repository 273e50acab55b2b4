"""What can be wrong with a wish for a report."""

from broker_project.lib.errors import BrokerError


class BadReport(BrokerError):
    """This report cannot be made."""


class ReportUnderWay(BrokerError):
    """This report is still to come."""
