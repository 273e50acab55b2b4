"""A Dapr component of the kind pubsub: what its clients call it, and what it lets them do."""

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now

from broker_project.lib.patterns import PUBLIC_ID


class ComponentQuerySet(models.QuerySet["Component"]):
    def put(self, *, name: str, enable_delayed_messaging: bool, create_topics: bool) -> "Component":
        """Makes it, or changes the one with this name."""
        values = {"enable_delayed_messaging": enable_delayed_messaging, "create_topics": create_topics}
        return self.update_or_create(name=name, defaults={**values, "changed_at": Now()})[0]


class Component(models.Model):
    """A change is seen by all processes as one of the registry is: a trigger raises its version."""

    name = models.CharField(
        max_length=255,
        unique=True,
        db_collation="C",
        validators=[RegexValidator(rf"^{PUBLIC_ID.pattern}\Z", "1 to 255 of A-Z a-z 0-9 . _ ~ -")],
    )
    enable_delayed_messaging = models.BooleanField(
        default=False, help_text="Whether messages may be published for later (metadata.scheduledSendTime)."
    )
    create_topics = models.BooleanField(
        default=True, help_text="Whether publishing to an unknown topic makes its channel; else it is refused."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = ComponentQuerySet.as_manager()

    class Meta:
        db_table = "dapr_component"
        verbose_name = "Dapr component"

    def __str__(self) -> str:
        return self.name
