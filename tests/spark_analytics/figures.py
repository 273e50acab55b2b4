"""Figures of a small broker, as Spark would hand them to the page."""

from datetime import UTC, datetime, timedelta
from typing import Any

from spark_analytics.render import Heading, Result

START = datetime(2026, 11, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
MARKUP = "<script>alert(1)</script>"
CHANNELS = ("orders", MARKUP)


def heading(**values: Any) -> Heading:
    given = {"start": START, "end": START + 48 * HOUR, "made_at": START + 60 * HOUR, **values}
    return Heading(**given)


def throughput(hours: int = 48, start: datetime = START, factor: int = 1) -> Result:
    rows = [
        {
            "hour": start + place * HOUR,
            "hours_in": place,
            "channel": channel,
            "messages": factor * (place + 1),
            "bytes": 7,
        }
        for place in range(hours)
        for channel in CHANNELS
    ]
    columns = ("hour", "hours_in", "channel", "messages", "bytes")
    return Result("throughput", "Throughput", "Messages an hour.", ("hours_in", "channel"), columns, rows)


def sla() -> Result:
    rows = [{"channel": channel, "consumer": "</script><b>", "finished": 10, "attainment": 0.5} for channel in CHANNELS]
    columns = ("channel", "consumer", "finished", "attainment")
    return Result("sla", "Delivered in time", "Which part.", ("channel", "consumer"), columns, rows)


def retries(*counts: tuple[int, int]) -> Result:
    """How many succeeded and failed at the first attempt, at the second, and so on."""
    rows = [
        {"attempt": number, "succeeded": succeeded, "failed": failed, "success_rate": succeeded / (succeeded + failed)}
        for number, (succeeded, failed) in enumerate(counts, start=1)
    ]
    columns = ("attempt", "succeeded", "failed", "success_rate")
    return Result("retries", "Retries", "Which attempt it took.", ("attempt",), columns, rows)


def heat_map() -> Result:
    rows = [
        {"day_of_week": day, "hour_of_day": hour, "messages_per_hour": day * hour / 3}
        for day in range(1, 8)
        for hour in range(24)
    ]
    keys = ("day_of_week", "hour_of_day")
    return Result("heat_map", "Hours of the week", "When it is busy.", keys, (*keys, "messages_per_hour"), rows)


def producers(*last_hours: tuple[str, datetime]) -> Result:
    rows = [
        {"producer": name, "channel": "orders", "messages": 3, "last_hour": last_hour} for name, last_hour in last_hours
    ]
    keys = ("producer", "channel")
    return Result("producers", "Producers", "Who sends.", keys, (*keys, "messages", "last_hour"), rows)


def nothing(name: str = "latency") -> Result:
    return Result(name, "Latency", "How long it took.", ("channel",), ("channel", "p95"), [])


def all_of_them() -> list[Result]:
    return [throughput(), sla(), heat_map(), nothing()]
