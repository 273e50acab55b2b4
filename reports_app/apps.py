from django.apps import AppConfig


class ReportsConfig(AppConfig):
    name = "reports_app"
    verbose_name = "Reports"

    def ready(self) -> None:
        """The core says where a pruned message went, and acts on dead letters stay until the lake has them."""
        # Not before the apps are loaded.
        from channels_app import tombstones  # noqa: PLC0415
        from dlq_app import retention  # noqa: PLC0415
        from reports_app.prune.places import letter_acts_until, place_of  # noqa: PLC0415

        tombstones.PLACES.append(place_of)
        retention.TAKEN_UNTIL.append(letter_acts_until)
