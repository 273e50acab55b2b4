"""Messages that cases are about, in the state that the door and the steps would leave them in."""

from typing import Any

from django.db import connection

from channels_app.delivery.fanout import fan_out
from channels_app.models import Channel, Message, MessageKey, Producer
from tests.channels_app.registry import make_producer


def make_messages(channel: Channel, *names: str, **values: Any) -> list[Message]:
    """Stored, and no more."""
    producer = Producer.objects.named("shop").first() or make_producer()
    common = {"payload": b"hello", "content_type": "text/plain", **values}
    rows = [Message(channel=channel, producer=producer, message_id=name, **common) for name in names]
    Message.objects.bulk_create(rows)
    MessageKey.objects.bulk_create(
        [MessageKey(channel_id=channel.pk, message_id=row.message_id, row_id=row.pk) for row in rows]
    )
    return rows


def dispatch(channel: Channel) -> None:
    """What is stored gets its jobs."""
    while fan_out(channel.pk).messages:
        pass


def plan_of(sql: str, parameters: Any = None) -> dict[str, Any]:
    """How PostgreSQL runs a statement; it is run."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", parameters)
        [plan] = cursor.fetchone()[0]
    found: dict[str, Any] = plan["Plan"]
    return found


def nodes_of(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(node for inner in plan.get("Plans", []) for node in nodes_of(inner))]


def rows_touched(sql: str, parameters: Any = None) -> int:
    """Rows that the plan's scans read, the ones they threw away among them."""
    scans = [node for node in nodes_of(plan_of(sql, parameters)) if "Plans" not in node]
    return sum(
        int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in scans
    )
