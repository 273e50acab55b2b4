"""Automatic redrive: a consumer takes deliveries again, and gets the letters of its trouble, if its channel says so.

A trigger notes the recovery (migration 0003). Each letter is looked at once for each: one that dies again has entered
after it.
"""

from datetime import timedelta

from django.conf import settings
from django.db.models import Max
from django.db.models.functions import Now

from channels_app.delivery.work import Work
from channels_app.reasons import Reason
from dlq_app.models import DeadLetter, DeadLetterRecovery
from dlq_app.requeue import requeue

BY = "automatic redrive"
NOTE = "The consumer takes deliveries again."
# What speaks of the consumer, not of the message.
REASONS = (Reason.HTTP_5XX, Reason.TIMEOUT, Reason.REFUSED, Reason.DNS, Reason.TLS, Reason.ACK_TIMEOUT)
# Jobs died before the breaker opened, and before somebody paused the consumer.
BEFORE_IT_STOPPED = timedelta(minutes=10)
# What is older is left to people.
MAX_AGE = timedelta(days=1)
# Of each consumer, every ten seconds: a hundred a second.
MOST_A_SWEEP = 1_000


def redrive_recovered() -> tuple[int, Work]:
    """Some letters of each consumer that has recovered; how many went back, and who has work now."""
    DeadLetterRecovery.objects.filter(recovered_at__lt=Now() - MAX_AGE).delete()
    moved, work = 0, Work()
    for recovery in DeadLetterRecovery.objects.filter(pk__in=_in_turn()).order_by("pk"):
        done, found = _redrive_some(recovery)
        moved, work = moved + done, work | found
    return moved, work


def _in_turn() -> list[int]:
    """The latest of each consumer that is still well: one that was stopped again waits for its next recovery."""
    well = DeadLetterRecovery.objects.filter(
        consumer__deleted_at__isnull=True,
        consumer__state__paused_at__isnull=True,
        consumer__state__disabled_at__isnull=True,
        consumer__state__breaker_opened_at__isnull=True,
        consumer__channel__state__paused_at__isnull=True,
        consumer__channel__dead_letter_policy__auto_redrive=True,
    )
    return list(well.values_list("pk", flat=True))
