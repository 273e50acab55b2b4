"""POST /channel/{c}/consumer/{k}/lease: jobs for one who asks, at once or as soon as there are any."""

from typing import Any

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from channels_app.api.pull.door import address, admit, answer, document
from channels_app.api.pull.fields import number, read, text, whole
from channels_app.api.pull.shapes import message_shown, moment_shown
from channels_app.api.pull.waiting import desk
from channels_app.pull.lease import Ask, Leased

PATH = address("lease")
MOST_JOBS, MOST_SECONDS, MOST_WAIT_SECONDS = 1_000, 3_600, 30
MOST_BYTES = 8 * 1024 * 1024
FIELDS = {
    "limit": whole(1, MOST_JOBS),
    "leaseSeconds": number(0.001, MOST_SECONDS),
    "waitSeconds": number(0, MOST_WAIT_SECONDS),
    "maxBytes": whole(1, MOST_BYTES),
    "deviceId": text(255),
}
DEFAULT_LIMIT = 25
MAX_DOCUMENT_BYTES = 64 * 1024


async def take(request: Request) -> Reply:
    """Nobody else gets these jobs while their lease lasts; an empty result when nothing came in time."""
    admitted = await admit(request, PATH)
    admitted.must_lease()
    asked, consumer = read(document(request), FIELDS), admitted.consumer
    ask = Ask(
        consumer.row_id,
        cap=consumer.cap,
        limit=asked.get("limit", DEFAULT_LIMIT),
        lease_seconds=asked.get("leaseSeconds", consumer.ack_timeout_seconds),
        max_bytes=asked.get("maxBytes", MOST_BYTES),
        device_id=asked.get("deviceId"),
    )
    jobs = await desk().ask(ask, wait_seconds=asked.get("waitSeconds", 0.0), gone=request.gone)
    return answer({"result": [_shown(job) for job in jobs]})


def _shown(job: Leased) -> dict[str, Any]:
    return {
        "id": str(job.job_id),
        "priority": job.priority,
        "attempt": job.attempt,
        "leaseUntil": moment_shown(job.lease_until),
        "publishedAt": moment_shown(job.published_at),
        "message": message_shown(job.message_id, job.payload, job.content_type, job.headers),
    }


ROUTES = (Route(PATH, ("POST",), take, max_bytes=MAX_DOCUMENT_BYTES, watched=True),)
