"""A queue of the Querator door: a channel with one pull consumer, and what neither of the two can hold."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from channels_app.models import Channel

MAX_REFERENCE = 2_000


class Queue(models.Model):
    """What dies in it is sent to its dead queue by a trigger, in the statement that ends it: nobody can forget to."""

    channel = models.OneToOneField(Channel, on_delete=models.CASCADE, primary_key=True, related_name="queue")
    dead_queue = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="sources")
    reference = models.CharField(max_length=MAX_REFERENCE, db_default="")
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "queue"
        constraints = [
            models.CheckConstraint(name="queue_is_not_its_own_dead_queue", condition=~Q(dead_queue=F("channel")))
        ]

    def __str__(self) -> str:
        return self.channel.public_id
