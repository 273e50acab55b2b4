"""A producer: who broadcasts."""

from django.db import models
from django.db.models import Q

from channels_app.models.registry_object import RegistryObject


class Producer(RegistryObject):
    class Meta:
        db_table = "producer"
        indexes = [models.Index(fields=["id"], condition=Q(deleted_at__isnull=True), name="producer_live")]
        constraints = [
            models.UniqueConstraint(
                fields=["public_id"],
                condition=Q(deleted_at__isnull=True),
                name="producer_public_id_is_unique",
                violation_error_message="There is a producer with this id.",
            ),
            *RegistryObject.Meta.constraints,
        ]
