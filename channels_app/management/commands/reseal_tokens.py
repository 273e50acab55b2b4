"""Seals all tokens anew with the first key of TOKEN_KEYS; run it after putting a new key first, then drop the old."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from channels_app.models import Channel, Consumer, Producer, RegistryVersion
from channels_app.models.fields import SealedField

BATCH = 1_000


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        for model in (Channel, Producer, Consumer):
            self.stdout.write(f"{model._meta.verbose_name_plural}: {self._reseal(model)}")

    def _reseal(self, model: type[Channel] | type[Producer] | type[Consumer]) -> int:
        """In batches by id, each in a transaction of its own: a stopped run is simply run again."""
        sealed = [field.name for field in model._meta.fields if isinstance(field, SealedField)]
        done, last = 0, 0
        while True:
            with transaction.atomic():
                RegistryVersion.objects.lock()
                rows = list(model.objects.filter(pk__gt=last).order_by("pk").select_for_update().only(*sealed)[:BATCH])
                model.objects.bulk_update(rows, [*sealed, *_digested(rows)])
            if not rows:
                return done
            done, last = done + len(rows), rows[-1].pk


def _digested(rows: Sequence[Channel | Producer | Consumer]) -> list[str]:
    """A producer is found by its token: the digest is made with the same keys, and made anew with it."""
    producers = [row for row in rows if isinstance(row, Producer)]
    for producer in producers:
        producer.digest_token()
    return ["token_digest"] if producers else []
