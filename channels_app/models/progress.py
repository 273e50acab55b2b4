"""The last sign of work of each part that runs apart from the web server."""

from datetime import datetime

from django.db import models
from django.db.models.functions import Now


class ProgressQuerySet(models.QuerySet["Progress"]):
    def mark(self, name: str, at: datetime | None = None) -> None:
        self.update_or_create(name=name, defaults={"at": at or Now()})


class Progress(models.Model):
    name = models.CharField(max_length=64, primary_key=True)
    at = models.DateTimeField()

    objects = ProgressQuerySet.as_manager()

    class Meta:
        db_table = "progress"
        verbose_name_plural = "progress"
