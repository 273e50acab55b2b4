"""What channels, producers and consumers have in common: an id of the client's, a token, a time of change."""

from datetime import datetime, timedelta
from typing import Any, Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Greatest, Now, TruncSecond

from broker_project.lib.patterns import PUBLIC_ID, whole
from channels_app.models.fields import SealedField, new_token
from channels_app.models.policies import RateLimited

_now_to_the_second = TruncSecond(Now())


class RegistryQuerySet(models.QuerySet[Any]):
    def live(self) -> Self:
        return self.filter(deleted_at__isnull=True)

    def named(self, public_id: str) -> Self:
        """The live row with this id. A text that cannot be an id is not even asked for: it may hold a NUL."""
        return self.live().filter(public_id=public_id) if PUBLIC_ID.fullmatch(public_id) else self.none()

    def change(self, *, pk: int, known: datetime, values: dict[str, Any]) -> bool:
        """Compare and set in one statement: of two that know the same state, one wins.

        Time moves by a second at least, so that two changes in one second differ.
        """
        later = Greatest(_now_to_the_second, models.F("changed_at") + timedelta(seconds=1))
        return bool(self.live().filter(pk=pk, changed_at=known).update(**values, changed_at=later))

    def retire(self, *, pk: int, known: datetime) -> bool:
        """A soft delete: history keeps pointing at the row, the public id becomes free."""
        return self.change(pk=pk, known=known, values={"deleted_at": Now()})


RegistryManager = models.Manager.from_queryset(RegistryQuerySet)


class RegistryObject(RateLimited):
    public_id = models.CharField(
        "id",
        max_length=255,
        db_collation="C",
        validators=[RegexValidator(rf"^{PUBLIC_ID.pattern}\Z", "1 to 255 of A-Z a-z 0-9 . _ ~ -")],
    )
    name = models.CharField(max_length=255)
    token = SealedField(default=new_token)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=_now_to_the_second, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = RegistryManager()

    class Meta(RateLimited.Meta):
        abstract = True
        constraints = [
            *RateLimited.Meta.constraints,
            models.CheckConstraint(
                name="%(class)s_id_is_legal",
                condition=models.Q(public_id__regex=whole(PUBLIC_ID)),
                violation_error_message="An id is 1 to 255 of A-Z a-z 0-9 . _ ~ -",
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def etag(self) -> str:
        return f'"{self.pk}-{int(self.changed_at.timestamp())}"'
