"""POST /channel/{c}/consumer/{k}/extend: a heartbeat. Leases end later, for attempts that still hold their jobs."""

from typing import Any

from django.conf import settings

from broker_project.api.door_write import written
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.patterns import row_id
from channels_app.api.pull import fields
from channels_app.api.pull.door import address, admit, answer
from channels_app.api.pull.fields import Field, Shape
from channels_app.api.pull.items import ItemsRefused, read_items
from channels_app.api.pull.shapes import moment_shown
from channels_app.pull.extend import Extended, Extension
from channels_app.pull.extend import extend as lengthen

PATH = address("extend")
_SHAPE = Shape(
    Field("jobId", "job", fields.text, needed=True),
    Field("attempt", "attempt", fields.attempt, needed=True),
    Field("leaseSeconds", "lease_seconds", fields.lease_seconds),
)


async def extend(request: Request) -> Reply:
    admitted = await admit(request, PATH)
    admitted.must_acknowledge()
    try:
        items = await read_items(request, _SHAPE)
    except ItemsRefused as refused:
        return refused.reply()
    consumer = admitted.consumer
    wanted = [
        Extension(row_id(item["job"]), item["attempt"], item.get("lease_seconds", consumer.ack_timeout_seconds))
        for item in items
    ]
    done = await written(lambda connection: lengthen(connection, consumer.row_id, wanted))
    return answer({"result": [_shown(item["job"], one) for item, one in zip(items, done, strict=True)]})


def _shown(job: str, extended: Extended) -> dict[str, Any]:
    shown = {"jobId": job, "result": extended.result}
    return {**shown, "leaseUntil": moment_shown(extended.lease_until)} if extended.lease_until else shown


ROUTES = (Route(PATH, ("POST",), extend, max_bytes=settings.MAX_PAYLOAD_BYTES),)
