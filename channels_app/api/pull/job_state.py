"""POST /channel/{c}/consumer/{k}/job/{j}: one job's next state. GET of the same address is Django's."""

from typing import Any

from broker_project.api.door_write import written
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.patterns import row_id
from channels_app.api.pull import fields
from channels_app.api.pull.after import after
from channels_app.api.pull.door import Admitted, address, admit, answer, document
from channels_app.api.pull.fields import Field, InvalidField, Shape
from channels_app.api.pull.shapes import moment_shown
from channels_app.models.consumer import ConsumerType
from channels_app.pull.transition import NextState, Wanted, transit

PATH = address("job/(?P<job>[^/]+)")
MOST_BYTES = 64 * 1024


def _next_state(value: Any) -> NextState:
    if not isinstance(value, str) or value.upper() not in NextState.__members__:
        raise InvalidField("A nextState is INFLIGHT, DELIVERED, DEAD or QUEUED.")
    return NextState(value.upper())


_SHAPE = Shape(
    Field("nextState", "next_state", _next_state, needed=True),
    Field("incrementalTimeout", "lease_seconds", fields.lease_seconds),
    Field("attempt", "attempt", fields.attempt),
    Field("error", "error", fields.error),
    Field("retryAt", "retry_at", fields.moment),
    Field("deviceId", "device_id", fields.text),
)


async def set_state(request: Request) -> Reply:
    found = PATH.fullmatch(request.path)
    assert found is not None
    admitted = await admit(request, PATH)
    admitted.must_acknowledge()
    values = _SHAPE.of(document(request))
    wanted = _wanted(admitted, row_id(found["job"]), values)
    state, acked = await written(lambda connection: transit(connection, wanted))
    if acked is not None:
        after(acked)
    shown = {"attempt": state.attempt, "leaseUntil": moment_shown(state.lease_until), "deviceId": state.device_id}
    return answer(shown, status=202)


def _wanted(admitted: Admitted, job_id: int, values: dict[str, Any]) -> Wanted:
    consumer = admitted.consumer
    return Wanted(
        consumer.row_id,
        job_id,
        lease_seconds=values.pop("lease_seconds", consumer.ack_timeout_seconds),
        ack_timeout_seconds=consumer.ack_timeout_seconds,
        cap=None if consumer.mode == ConsumerType.PUSH else consumer.cap,
        **values,
    )


ROUTES = (Route(PATH, ("POST",), set_state, max_bytes=MOST_BYTES, shared=True),)
