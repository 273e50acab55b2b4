"""What Dapr's clients say in headers and in the query, and who they are by it."""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from broker_project.api.frame import Request
from channels_app.api.pacing import pace
from scheduling_app.dapr.caller import Caller, caller_at_hand, caller_of
from scheduling_app.dapr.cloudevents import Trace
from scheduling_app.dapr.errors import InvalidMetadata, Unauthenticated
from scheduling_app.dapr.metadata import from_query

MOST_PARAMETERS = 200


class Head(NamedTuple):
    token: str = ""
    app_id: str = ""
    namespace: str = ""
    content_type: str = ""
    trace_parent: str = ""
    trace_state: str = ""

    @property
    def trace(self) -> Trace:
        return Trace(self.trace_parent, self.trace_state)


_FIELDS = {
    b"dapr-api-token": "token",
    b"dapr-app-id": "app_id",
    b"dapr-namespace": "namespace",
    b"content-type": "content_type",
    b"traceparent": "trace_parent",
    b"tracestate": "trace_state",
}


def head_of(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Names are in lower case; of one that stands twice the last counts."""
    return Head(**{_FIELDS[name]: value.decode("latin1") for name, value in headers if name in _FIELDS})


async def caller_behind(request: Request, head: Head) -> Caller:
    """Guesses are paced by address; only who is refused pays."""
    try:
        return await caller_of(head.token, head.app_id, head.namespace)
    except Unauthenticated:
        await pace(request.address)
        raise


def known_caller(head: Head) -> Caller | None:
    return caller_at_hand(head.token, head.app_id, head.namespace)


def metadata_of(query: bytes) -> dict[str, str]:
    """The query's metadata.* parameters. A + is a blank there, also where a zone was meant: moments understand it."""
    if not query:
        return {}
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except ValueError:
        raise InvalidMetadata("The query cannot be read: it is not UTF-8, or has too many parameters.") from None
    return from_query(pairs)
