"""The rules that staff keep, as the engine of alerts reads them."""

from collections.abc import Iterator

from channels_app.alerts.values import Rule
from channels_app.models import AlertKind
from watch_app.models import AlertRule


def kept_rules() -> Iterator[Rule]:
    """A rule of a deleted channel or consumer speaks of nobody: what is deleted is not measured."""
    for row in AlertRule.objects.filter(enabled=True).order_by("pk"):
        yield Rule(
            key=f"rule-{row.pk}",
            name=row.name,
            kind=AlertKind(row.kind),
            threshold=row.threshold,
            hold_seconds=row.hold_seconds,
            channel_id=row.channel_id,
            consumer_id=row.consumer_id,
            least_tries=row.least_tries,
            to_webhook=row.to_webhook,
            to_email=row.to_email,
            addresses=tuple(row.addresses),
        )
