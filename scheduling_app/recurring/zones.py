"""The time zones that a schedule may go by."""

from functools import cache
from zoneinfo import available_timezones


@cache
def zones() -> frozenset[str]:
    # What is not of IANA: the zone of this machine, under names of its own.
    return frozenset(available_timezones()) - {"localtime", "Factory"}
