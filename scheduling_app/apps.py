from django.apps import AppConfig

COUNTED = """
SELECT 3::smallint, channel_id, partition::bigint, status, '', count(*)
FROM scheduled_message GROUP BY channel_id, partition, status
"""


class SchedulingConfig(AppConfig):
    name = "scheduling_app"
    verbose_name = "Scheduling"

    def ready(self) -> None:
        """Counters are checked, bulk acts run, payloads expunged and messages traced back with the core's own."""
        # Not before the apps are loaded.
        from channels_app import counts, origins, services  # noqa: PLC0415
        from channels_app.models import CounterKind  # noqa: PLC0415
        from channels_app.operations import kinds  # noqa: PLC0415
        from scheduling_app.bulk import BulkCancel, BulkReschedule  # noqa: PLC0415
        from scheduling_app.models import ScheduledStatus  # noqa: PLC0415
        from scheduling_app.querator.copies import expunge_dead  # noqa: PLC0415
        from scheduling_app.selectors import origin_of  # noqa: PLC0415
        from scheduling_app.services import expunge_copy  # noqa: PLC0415

        counts.COUNTED.append(COUNTED)
        counts.NAMES[CounterKind.SCHEDULED] = ScheduledStatus
        kinds.register(BulkCancel())
        kinds.register(BulkReschedule())
        services.COPIES.append(expunge_copy)
        services.COPIES.append(expunge_dead)
        origins.ORIGINS.append(origin_of)
