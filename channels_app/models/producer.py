"""A producer: who broadcasts."""

from datetime import datetime
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q

from channels_app.models import fields
from channels_app.models.registry_object import RegistryObject, RegistryQuerySet


class DigestField(models.CharField):  # type: ignore[type-arg]
    """Of the row's token, written whenever the row is: nobody can forget it."""

    def pre_save(self, model_instance: Any, add: bool) -> str:
        model_instance.token_digest = fields.sealer().digest(model_instance.token)
        return str(model_instance.token_digest)


class ProducerQuerySet(RegistryQuerySet):
    def with_token(self, token: str) -> Self:
        """Found by the token alone, where a client names nobody."""
        return self.live().filter(token_digest__in=fields.sealer().digests(token)).order_by("pk")

    def change(self, *, pk: int, known: datetime, values: dict[str, Any]) -> bool:
        if "token" in values:
            values = {**values, "token_digest": fields.sealer().digest(values["token"])}
        return super().change(pk=pk, known=known, values=values)


ProducerManager = models.Manager.from_queryset(ProducerQuerySet)


class Producer(RegistryObject):
    token_digest = DigestField(max_length=64, db_default="", editable=False)

    objects: ClassVar[Any] = ProducerManager()

    class Meta:
        db_table = "producer"
        indexes = [
            models.Index(fields=["id"], condition=Q(deleted_at__isnull=True), name="producer_live"),
            models.Index(fields=["token_digest"], condition=Q(deleted_at__isnull=True), name="producer_by_token"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["public_id"],
                condition=Q(deleted_at__isnull=True),
                name="producer_public_id_is_unique",
                violation_error_message="There is a producer with this id.",
            ),
            *RegistryObject.Meta.constraints,
        ]

    def digest_token(self) -> None:
        self.token_digest = fields.sealer().digest(self.token)
