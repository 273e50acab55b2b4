from django.apps import AppConfig


class WatchConfig(AppConfig):
    name = "watch_app"
    verbose_name = "Watch"

    def ready(self) -> None:
        """Alerts are watched for by the rules that staff keep, on the numbers that are shown."""
        # Not before the apps are loaded.
        from channels_app.alerts import sources  # noqa: PLC0415
        from channels_app.models import AlertKind  # noqa: PLC0415
        from watch_app.alerts import measures, rules  # noqa: PLC0415

        sources.RULES.append(rules.kept_rules)
        sources.MEASURES |= {
            AlertKind.SUCCESS_RATE: measures.success_rate,
            AlertKind.SCHEDULE_LAG: measures.schedule_lag,
            AlertKind.OLDEST_WAITING: measures.oldest_waiting,
            AlertKind.CONSUMER_DISABLED: measures.disabled,
            AlertKind.BREAKER_OPEN: measures.breaker_open,
            AlertKind.NO_PROGRESS: measures.no_progress,
        }
