from django.apps import AppConfig

COUNTED = """
SELECT 5::smallint, channel_id, consumer_id, CASE WHEN resolution IS NULL THEN 1 ELSE 2 END::smallint, reason, count(*)
FROM dead_letter GROUP BY 2, 3, 4, 5
"""
# What has happened outlives its rows: there is nothing to check it by.
HAPPENED = "SELECT kind, channel_id, consumer_id, status, reason, count FROM kept WHERE kind = 5 AND status > 10"


class DeadLettersConfig(AppConfig):
    name = "dlq_app"
    verbose_name = "Dead letters"

    def ready(self) -> None:
        """Counters are checked, long acts run and alerts are watched for with the core's own."""
        # Not before the apps are loaded.
        from channels_app import counts  # noqa: PLC0415
        from channels_app.alerts import sources  # noqa: PLC0415
        from channels_app.models import AlertKind, CounterKind  # noqa: PLC0415
        from channels_app.operations import kinds  # noqa: PLC0415
        from dlq_app import alerts  # noqa: PLC0415
        from dlq_app.missed import DeliverMissed  # noqa: PLC0415
        from dlq_app.models.dead_letter import LetterStatus  # noqa: PLC0415
        from dlq_app.redrive import Redrive  # noqa: PLC0415
        from dlq_app.replay import Replay  # noqa: PLC0415

        counts.COUNTED += [COUNTED, HAPPENED]
        counts.NAMES[CounterKind.DEAD_LETTER] = LetterStatus
        for kind in (Redrive(), Replay(), DeliverMissed()):
            kinds.register(kind)
        sources.RULES.append(alerts.policy_rules)
        sources.MEASURES |= {AlertKind.DEPTH: alerts.depth, AlertKind.AGE: alerts.age}
