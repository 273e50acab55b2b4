"""One number that rises with every change to the registry; triggers raise it, so no writer can forget."""

from typing import Self

from django.db import models

from broker_project.lib.bound import fetch


class RegistryVersionQuerySet(models.QuerySet["RegistryVersion"]):
    def current(self: Self) -> int:
        """Asked for all the time, by every process."""
        rows = fetch("SELECT version FROM registry_version")
        return int(rows[0][0]) if rows else 0

    def lock(self) -> None:
        """Taken before rows of the registry are, by whoever locks rows before changing them: triggers take it first."""
        self.select_for_update().first()


class RegistryVersion(models.Model):
    """A single row. See migration 0002 for the triggers."""

    version = models.BigIntegerField()

    objects = RegistryVersionQuerySet.as_manager()

    class Meta:
        db_table = "registry_version"
