"""What is told of jobs that died without a try: by age, with their consumer, or as poison. A line for each consumer."""

from collections import defaultdict
from collections.abc import Sequence

import structlog

from broker_project.lib.bound import fetch
from channels_app.reasons import ADVICE, Reason

log = structlog.get_logger(__name__)

_WHOSE = """
SELECT channel.public_id, consumer.public_id, job.id, message.message_id
FROM delivery_job job JOIN channel ON channel.id = job.channel_id JOIN consumer ON consumer.id = job.consumer_id
LEFT JOIN message ON message.id = job.message_id
WHERE job.id = ANY(%(jobs)s::bigint[]) ORDER BY job.id
"""


def tell(jobs: Sequence[int], reason: Reason, advice: str = "") -> None:
    """`advice`, where there is a better one than for all that died of this."""
    dead: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for channel, consumer, job_id, message_id in fetch(_WHOSE, {"jobs": list(jobs)}):
        dead[channel, consumer].append((job_id, message_id))
    for (channel, consumer), found in dead.items():
        log.warning(
            "delivery.dead",
            channel=channel,
            consumer=consumer,
            messages=[message_id for _, message_id in found],
            jobs=[job_id for job_id, _ in found],
            reason=reason.value,
            advice=advice or ADVICE[reason],
        )
