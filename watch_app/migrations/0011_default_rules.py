"""Rules that make sense out of the box. Staff change them, switch them off, or add their own."""

from typing import Any

from django.db import migrations

DAY = 24 * 3600
DEFAULTS = (
    {"name": "Many dead letters", "kind": "depth", "threshold": 1000, "hold_seconds": 60},
    {"name": "Dead letters forgotten", "kind": "age", "threshold": DAY, "hold_seconds": 60},
    {"name": "Deliveries fail", "kind": "success_rate", "threshold": 90, "hold_seconds": 120},
    {"name": "Scheduler late", "kind": "schedule_lag", "threshold": 60, "hold_seconds": 60},
    {"name": "Consumer behind", "kind": "oldest_waiting", "threshold": 300, "hold_seconds": 60},
    {"name": "Consumer disabled", "kind": "consumer_disabled", "threshold": 0, "hold_seconds": 0},
    {"name": "Consumer failing for long", "kind": "breaker_open", "threshold": 600, "hold_seconds": 60},
    {"name": "Part stands still", "kind": "no_progress", "threshold": 60, "hold_seconds": 20},
)


def make(apps: Any, _schema: Any) -> None:
    rules = apps.get_model("watch_app", "AlertRule")
    rules.objects.bulk_create(rules(**values) for values in DEFAULTS)


def remove(apps: Any, _schema: Any) -> None:
    apps.get_model("watch_app", "AlertRule").objects.filter(name__in=[one["name"] for one in DEFAULTS]).delete()


class Migration(migrations.Migration):
    dependencies = [("watch_app", "0010_alert_rules")]

    operations = [migrations.RunPython(make, remove)]
