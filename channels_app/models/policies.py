"""Columns that channels and consumers share: how to retry, how fast to go."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

MAX_RETRIES = 100
MAX_WAIT_SECONDS = 7 * 24 * 3600
MAX_FACTOR = 100
MAX_PER_SECOND = 1_000_000


class Jitter(models.TextChoices):
    NONE = "none"
    FULL = "full"
    EQUAL = "equal"


def between(least: float, most: float) -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(least), MaxValueValidator(most)]


class RateLimited(models.Model):
    """A token bucket; no rate means no limit."""

    rate_per_second = models.FloatField(null=True, blank=True, validators=between(0.001, MAX_PER_SECOND))
    rate_burst = models.IntegerField(null=True, blank=True, validators=between(1, MAX_PER_SECOND))

    class Meta:
        abstract = True
        constraints = [
            models.CheckConstraint(name="%(class)s_rate_is_positive", condition=Q(rate_per_second__gt=0)),
            models.CheckConstraint(name="%(class)s_burst_is_positive", condition=Q(rate_burst__gte=1)),
            models.CheckConstraint(
                name="%(class)s_burst_has_a_rate",
                condition=Q(rate_burst__isnull=True) | Q(rate_per_second__isnull=False),
                violation_error_message="A burst needs a rate.",
            ),
        ]


def retry_constraints() -> list[models.CheckConstraint]:
    """A NULL passes each of them: a consumer without a value of its own takes its channel's."""
    bounds = {
        "retries_in_range": Q(retries__range=(0, MAX_RETRIES)),
        "initial_in_range": Q(retry_initial_seconds__gt=0, retry_initial_seconds__lte=MAX_WAIT_SECONDS),
        "factor_in_range": Q(retry_factor__range=(1, MAX_FACTOR)),
        "ceiling_in_range": Q(retry_ceiling_seconds__gt=0, retry_ceiling_seconds__lte=MAX_WAIT_SECONDS),
        "jitter_is_known": Q(retry_jitter__in=Jitter.values),
    }
    return [models.CheckConstraint(name=f"%(class)s_{name}", condition=bound) for name, bound in bounds.items()]


def non_retriable_field(*, null: bool) -> Any:
    """Answers that are not tried again: status codes ("404") and reasons ("http_4xx")."""
    return ArrayField(models.CharField(max_length=16), default=None if null else list, null=null, blank=True)
