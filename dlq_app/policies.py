"""Acts and reads of a channel's dead letter policy."""

from typing import Any

import structlog
from django.db import transaction

from channels_app.models import Channel
from dlq_app.models import DeadLetterPolicy

log = structlog.get_logger(__name__)


def policy_of(channel: Channel) -> DeadLetterPolicy:
    """As it is kept, or all defaults."""
    return DeadLetterPolicy.objects.filter(channel=channel).first() or DeadLetterPolicy(channel=channel)


@transaction.atomic
def put(channel: Channel, *, values: dict[str, Any], by: str) -> DeadLetterPolicy:
    """A column that is left out keeps its value; None resets it to its default."""
    DeadLetterPolicy.objects.bulk_create([DeadLetterPolicy(channel=channel)], ignore_conflicts=True)
    policy = DeadLetterPolicy.objects.select_for_update().get(channel=channel)
    for name, value in values.items():
        setattr(policy, name, False if name == "auto_redrive" and value is None else value)
    policy.save(update_fields=list(values))
    log.info("dead_letters.policy_changed", channel=channel.public_id, by=by, fields=sorted(values))
    return policy
