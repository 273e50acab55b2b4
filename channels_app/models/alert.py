"""What was noticed: one row an episode, from when a number crossed a rule's threshold to when it no longer did."""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Prefetch, Q

from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer


class AlertKind(models.TextChoices):
    """What is measured. Depth and age are of dead letters."""

    DEPTH = "depth", "Open dead letters"
    AGE = "age", "Age of the oldest dead letter"
    SUCCESS_RATE = "success_rate", "Tries that succeed"
    SCHEDULE_LAG = "schedule_lag", "How late scheduled messages are"
    OLDEST_WAITING = "oldest_waiting", "How long the oldest job has waited"
    CONSUMER_DISABLED = "consumer_disabled", "Consumer is disabled"
    BREAKER_OPEN = "breaker_open", "How long a consumer has failed (circuit breaker)"
    NO_PROGRESS = "no_progress", "How long beat or a worker has done nothing"


class AlertQuerySet(models.QuerySet["Alert"]):
    """Suspected: crossed, and not yet for as long as the rule asks. Begun: an episode. Open: one that is not over."""

    def unfinished(self) -> "AlertQuerySet":
        return self.filter(ended_at__isnull=True)

    def suspected(self) -> "AlertQuerySet":
        return self.filter(began_at__isnull=True)

    def begun(self) -> "AlertQuerySet":
        return self.filter(began_at__isnull=False)

    def open(self) -> "AlertQuerySet":
        return self.unfinished().begun()

    def named(self) -> "AlertQuerySet":
        """With the names of channel and consumer, in queries of their own, without tokens."""
        channels = Prefetch("channel", Channel.objects.only("public_id"))
        return self.prefetch_related(channels, Prefetch("consumer", Consumer.objects.only("public_id", "channel_id")))

    def open_first(self) -> "AlertQuerySet":
        """Then by when they began: a row is older than its alert by as long as the rule asks."""
        return self.order_by(F("ended_at").desc(nulls_first=True), "-began_at", "-pk")

    def begin(self, alerts: Iterable["Alert"], now: datetime) -> None:
        """With the value and the threshold of this moment."""
        begun = list(alerts)
        for alert in begun:
            alert.began_at = now
        self.bulk_update(begun, ["began_at", "value", "threshold"])

    def stir(self, ids: Collection[int]) -> None:
        """Crossed again before it was over for long enough: the same episode."""
        self.filter(pk__in=ids).update(calm_at=None)

    def calm(self, ids: Collection[int], now: datetime) -> None:
        self.filter(pk__in=ids).update(calm_at=now)

    def end(self, ids: Collection[int], now: datetime) -> None:
        self.filter(pk__in=ids).update(ended_at=now)

    def mail_was_away(self, ids: Collection[int]) -> None:
        """The server, for all letters: the next round asks again."""
        self.filter(pk__in=ids).update(mail_tries=F("mail_tries") + 1, mail_after=None)

    def mail_was_refused(self, ids: Collection[int], wait: Callable[[int], timedelta], now: datetime) -> None:
        """`wait`: how long to leave the mail server alone after so many refusals."""
        refused = list(self.filter(pk__in=ids))
        for alert in refused:
            alert.mail_tries += 1
            alert.mail_refusals += 1
            alert.mail_after = now + wait(alert.mail_refusals)
        self.bulk_update(refused, ["mail_tries", "mail_refusals", "mail_after"])

    def forget(self, ids: Collection[int]) -> None:
        self.suspected().filter(pk__in=ids).delete()


class Alert(models.Model):
    """`value` is what it began with. What it is about: a channel, a consumer, or a part of the broker."""

    # Rules may be changed and removed: what they said when it began stays here.
    rule_key = models.CharField(max_length=32)
    rule = models.CharField(max_length=80)
    kind = models.CharField(max_length=24, choices=AlertKind.choices)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE, null=True, related_name="alerts")
    consumer = models.ForeignKey(Consumer, on_delete=models.CASCADE, null=True, related_name="alerts")
    part = models.CharField(max_length=64, db_default="", blank=True)
    threshold = models.FloatField()
    value = models.FloatField()
    hold_seconds = models.IntegerField(db_default=0)

    crossed_at = models.DateTimeField()
    began_at = models.DateTimeField(null=True)
    calm_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    to_webhook = models.BooleanField(db_default=True)
    to_email = models.BooleanField(db_default=True)
    # None here: those of the setting ALERT_EMAILS.
    addresses = ArrayField(models.EmailField(), db_default=[])
    # When the operations webhook, and the mail server, took the news of either.
    began_posted_at = models.DateTimeField(null=True)
    ended_posted_at = models.DateTimeField(null=True)
    began_mailed_at = models.DateTimeField(null=True)
    ended_mailed_at = models.DateTimeField(null=True)
    # How often the mail server did not take what there is to tell now; how often of these it was there and refused it;
    # and before when it is not asked again.
    mail_tries = models.IntegerField(db_default=0)
    mail_refusals = models.IntegerField(db_default=0)
    mail_after = models.DateTimeField(null=True)

    objects = models.Manager.from_queryset(AlertQuerySet)()

    class Meta:
        db_table = "alert"
        indexes = [models.Index(fields=["ended_at", "id"], name="alert_by_end")]
        constraints = [
            models.UniqueConstraint(
                fields=["rule_key", "channel", "consumer", "part"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="alert_once_per_episode",
            ),
            models.CheckConstraint(
                condition=Q(ended_at__isnull=True) | Q(began_at__isnull=False), name="alert_ended_had_begun"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}" if self.about else self.rule

    @property
    def about(self) -> str:
        """In the names of the registry."""
        names = [self.channel.public_id if self.channel else "", self.consumer.public_id if self.consumer else ""]
        return " / ".join(name for name in [*names, self.part] if name)
