"""Values as the dashboard gets them: a busy broker with something wrong in it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from watch_app.values import (
    Cause,
    ConsumerNow,
    Due,
    Event,
    Now,
    Part,
    Percentiles,
    Point,
    Series,
    Span,
    Totals,
)

AT = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
STEP = timedelta(seconds=10)
MARKUP = "<script>document.title='taken'</script>"


def make_span(steps: int = 30) -> Span:
    end = AT.replace(second=10)
    return Span(end - steps * STEP, end, STEP)


def make_series(steps: int = 30, **totals: Any) -> Series:
    span = make_span(steps)
    points = [
        Point(
            span.start + place * STEP,
            accepted=100 + place,
            delivered=90 + place,
            failed=place % 5,
            dead=place % 2,
            latency=Percentiles(0.012, 0.08, 0.3),
            lag=Percentiles(0.01, 0.02, 0.05),
            queued=place,
            in_flight=2,
            letters=40 + place,
        )
        for place in range(steps)
    ]
    named = {"accepted": 3_000, "delivered": 2_900, "failed": 100, "dead": 20, "scheduled": 5, "retried": 80}
    measured = {"latency": Percentiles(0.012, 0.084, 0.31), "lag": Percentiles(0.01, 0.04, 0.2)}
    return Series(span, points, Totals(**{**named, **measured, **totals}), first_letters=40)


def make_consumer(number: int = 1, **fields: Any) -> ConsumerNow:
    values: dict[str, Any] = {
        "channel_id": 1,
        "channel": "orders",
        "consumer_id": number,
        "consumer": f"billing-{number}",
        "kind": "push",
        "state": "ok",
        "queued": 12,
        "in_flight": 3,
        "letters": 4,
        "oldest_waiting_seconds": 4.2,
    }
    return ConsumerNow(**{**values, **fields})


def make_now(**fields: Any) -> Now:
    hour, day = timedelta(minutes=1), timedelta(hours=1)
    values: dict[str, Any] = {
        "at": AT,
        "queued": 12,
        "in_flight": 3,
        "letters": 69,
        "scheduled": 1_234,
        "overdue_seconds": None,
        "consumers": [make_consumer()],
        "consumers_left_out": 0,
        "next_hour": [Due(AT + place * hour, place % 7) for place in range(60)],
        "next_day": [Due(AT + place * day, place * place % 31, place == 5) for place in range(24)],
        "causes": [Cause("timeout", 9), Cause("http_5xx", 60)],
        "parts": [Part("beat", 1.0), Part("dispatch", 2.5), Part("delivery", 0.4)],
        "depths": {"dispatch": 0, "delivery": 7},
        "paused_channels": [],
        "open_alerts": 0,
    }
    return Now(**{**values, **fields})


def make_event(text: str = "orders / billing-1: breaker opened", **fields: Any) -> Event:
    return Event(fields.pop("at", AT), fields.pop("kind", "breaker"), text, **fields)
