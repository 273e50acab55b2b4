"""POST /channel/{c}/consumer/{k}/lease: jobs for one who asks, at once or as soon as there are any."""

from collections.abc import Sequence
from typing import Any

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.pull import fields
from channels_app.api.pull.door import address, admit, answer, document
from channels_app.api.pull.fields import Field, Shape
from channels_app.api.pull.shapes import message_shown, moment_shown
from channels_app.api.pull.waiting import desk
from channels_app.pull.lease import Ask, Leased

PATH = address("lease")
MOST_JOBS, DEFAULT_LIMIT, MOST_WAIT_SECONDS = 1_000, 25, 30
MOST_BYTES = 8 * 1024 * 1024
_SHAPE = Shape(
    Field("limit", "limit", fields.whole(1, MOST_JOBS)),
    Field("leaseSeconds", "lease_seconds", fields.lease_seconds),
    Field("waitSeconds", "wait_seconds", fields.number(0, MOST_WAIT_SECONDS)),
    Field("maxBytes", "max_bytes", fields.whole(1, MOST_BYTES)),
    Field("deviceId", "device_id", fields.text),
)
MAX_DOCUMENT_BYTES = 64 * 1024


async def take(request: Request) -> Reply:
    """Nobody else gets these jobs while their lease lasts; an empty result when nothing came in time."""
    admitted = await admit(request, PATH)
    admitted.must_lease()
    asked, consumer = _SHAPE.of(document(request)), admitted.consumer
    wait_seconds = asked.pop("wait_seconds", 0.0)
    defaults = {"limit": DEFAULT_LIMIT, "lease_seconds": consumer.ack_timeout_seconds, "max_bytes": MOST_BYTES}
    ask = Ask(consumer.row_id, consumer.cap, **{**defaults, **asked})
    jobs = await desk().ask(ask, wait_seconds=wait_seconds, gone=request.gone)
    await _check_again(request, jobs)
    return answer({"result": [_shown(job) for job in jobs]})


async def _check_again(request: Request, jobs: Sequence[Leased]) -> None:
    """A token that was changed during the wait opens nothing any more; nor is there an answer for one that is gone."""
    try:
        (await admit(request, PATH)).must_lease()
    except BrokerError:
        await desk().give_back(jobs)
        raise


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
