"""Automatic redrive: a consumer takes deliveries again, and gets the letters of its trouble, if its channel says so.

A trigger notes the recovery (migration 0003). Each letter is looked at once for each: one that dies again has entered
after it.
"""

from datetime import timedelta
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import QuerySet
from django.db.models.functions import Now

from channels_app.delivery.work import Work
from channels_app.reasons import Reason
from dlq_app.models import DeadLetter, DeadLetterRecovery
from dlq_app.models.dead_letter import DeadLetterQuerySet
from dlq_app.requeue import Requeued, requeue

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
    done = [_redrive_some(recovery) for recovery in _recovered()]
    return sum(one.moved for one in done), reduce(or_, (one.work for one in done), Work())


def _recovered() -> QuerySet[DeadLetterRecovery]:
    """The first of each consumer that is still well: one that was stopped again waits for its next recovery."""
    well = DeadLetterRecovery.objects.filter(
        consumer__deleted_at__isnull=True,
        consumer__state__paused_at__isnull=True,
        consumer__state__disabled_at__isnull=True,
        consumer__state__breaker_opened_at__isnull=True,
        consumer__channel__state__paused_at__isnull=True,
        consumer__channel__dead_letter_policy__auto_redrive=True,
    )
    return well.order_by("consumer_id", "pk").distinct("consumer_id")


def _redrive_some(recovery: DeadLetterRecovery) -> Requeued:
    done = requeue(_letters(recovery), by=BY, note=NOTE, most=MOST_A_SWEEP, most_times=settings.DLQ_MAX_REPLAYS)
    if done.chosen < MOST_A_SWEEP:
        recovery.delete()
    else:
        # Those that could not go back are not looked at again.
        DeadLetterRecovery.objects.filter(pk=recovery.pk).update(after_id=done.last_id)
    return done


def _letters(recovery: DeadLetterRecovery) -> DeadLetterQuerySet:
    since = max(recovery.trouble_began_at - BEFORE_IT_STOPPED, recovery.recovered_at - MAX_AGE)
    return DeadLetter.objects.open().filter(
        consumer_id=recovery.consumer_id,
        reason__in=REASONS,
        entered_at__gte=since,
        entered_at__lt=recovery.recovered_at,
        id__gt=recovery.after_id,
    )
