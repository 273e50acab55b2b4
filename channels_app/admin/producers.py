"""Producers."""

from django.contrib import admin

from channels_app.admin.registry import LIMITS, RegistryAdmin
from channels_app.models import Producer


@admin.register(Producer)
class ProducerAdmin(RegistryAdmin):
    list_display = ("public_id", "name", "rate", "changed_at")
    topics = [("Limits", {"fields": LIMITS})]

    @admin.display(description="rate limit", ordering="rate_per_second")
    def rate(self, producer: Producer) -> str:
        return f"{producer.rate_per_second:g} a second" if producer.rate_per_second else "none"
