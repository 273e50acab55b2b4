"""Reads of dead letters: one with its whole story, a consumer's, and how many there are and where."""

from django.db import connection
from django.db.models import Prefetch

from broker_project.lib.patterns import PUBLIC_ID, row_id
from channels_app.errors import UnknownConsumer
from channels_app.models import Channel, Consumer, DeliveryAttempt
from dlq_app.errors import UnknownLetter
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter, DeadLetterAct
from dlq_app.models.dead_letter import DeadLetterQuerySet

# What is folded and what is not yet, together: exact after every commit, and as small as the registry.
_COUNTS = """
SELECT channel.public_id, consumer.public_id, sum(count)
FROM (SELECT channel_id, consumer_id, count FROM counter WHERE kind = 5 AND status = 1
      UNION ALL SELECT channel_id, consumer_id, count FROM counter_delta WHERE kind = 5 AND status = 1) AS counted
JOIN channel ON channel.id = channel_id JOIN consumer ON consumer.id = consumer_id
GROUP BY channel.public_id, consumer.public_id HAVING sum(count) <> 0 ORDER BY 1, 2
"""


def get_letter(job_id: str) -> DeadLetter:
    """Open or resolved, with its message, every try, and all that was done about it."""
    attempts = Prefetch("job__attempts", DeliveryAttempt.objects.order_by("id"))
    acts = Prefetch("job__letter_acts", DeadLetterAct.objects.order_by("id"))
    rows = DeadLetter.objects.select_related("job", "message__producer", "channel", "consumer", "edited_message")
    letter = rows.prefetch_related(attempts, acts).filter(job_id=row_id(job_id)).first()
    if letter is None:
        raise UnknownLetter
    return letter


def with_names(letters: DeadLetterQuerySet) -> DeadLetterQuerySet:
    """For lists: with what a line shows, and no payload."""
    rows = letters.select_related("job", "message", "channel", "consumer")
    return rows.defer("message__payload", "message__headers", "words")


def letters_of(consumer: Consumer) -> DeadLetterQuerySet:
    return LetterFilter(consumer_id=consumer.pk).letters()


def get_consumer_or_past(channel: Channel, public_id: str) -> Consumer:
    """For history: the live consumer with this id, else the one that was deleted last."""
    rows = Consumer.objects.filter(channel=channel)
    named = rows.filter(public_id=public_id).order_by("-deleted_at", "-pk") if PUBLIC_ID.fullmatch(public_id) else None
    consumer = named and (rows.named(public_id).first() or named.first())
    if not consumer:
        raise UnknownConsumer
    return consumer


def letter_counts() -> dict[str, dict[str, int]]:
    """channel -> consumer -> how many open letters."""
    counts: dict[str, dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS)
        for channel, consumer, count in cursor.fetchall():
            counts.setdefault(channel, {})[consumer] = int(count)
    return counts
