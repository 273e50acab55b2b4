"""What a pull consumer would get next, without taking it."""

from broker_project.lib.bound import fetch
from channels_app.delivery.claim import MOST_BYTES
from channels_app.models import DeliveryJob

# In the order of a claim, and ended by rows or bytes as a claim is.
_NEXT = """
SELECT id FROM (
    SELECT ready.id, place, sum(octet_length(m.payload)) OVER (ORDER BY place) - octet_length(m.payload) AS before
    FROM (
        SELECT id, message_id, row_number() OVER (ORDER BY priority DESC, id) AS place FROM delivery_job
        WHERE consumer_id = %(consumer)s::bigint AND status = 1001 AND next_attempt_at IS NULL AND expires_at > now()
        ORDER BY priority DESC, id LIMIT %(most)s::bigint
    ) AS ready JOIN message m ON m.id = ready.message_id
) AS measured WHERE before < %(bytes)s::bigint ORDER BY place
"""


def peek(consumer_id: int, *, most: int) -> list[DeliveryJob]:
    ids = [row[0] for row in fetch(_NEXT, {"consumer": consumer_id, "most": most, "bytes": MOST_BYTES})]
    jobs = DeliveryJob.objects.select_related("message").in_bulk(ids)
    return [jobs[job_id] for job_id in ids if job_id in jobs]
