"""A Python client of the message broker: publish, schedule, lease, acknowledge, and a worker that does it all day."""

from broker_client.acks import Ack
from broker_client.async_broker import AsyncBroker
from broker_client.broker import Broker
from broker_client.errors import (
    BrokerError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    Limited,
    NotFound,
    PreconditionFailed,
    TooLarge,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from broker_client.held import Held
from broker_client.indexed import Indexed, Indexes, Polled
from broker_client.outgoing import Outgoing
from broker_client.retries import Retries
from broker_client.values import (
    ItemResult,
    Job,
    JobState,
    Message,
    Published,
    Registered,
    ScheduledMessage,
    StoredMessage,
    Task,
)
from broker_client.verdicts import Reject, Retry
from broker_client.worker import Worker

__all__ = [
    "Ack",
    "AsyncBroker",
    "Broker",
    "BrokerError",
    "Conflict",
    "Forbidden",
    "Gone",
    "Held",
    "Indexed",
    "Indexes",
    "Invalid",
    "ItemResult",
    "Job",
    "JobState",
    "Limited",
    "Message",
    "NotFound",
    "Outgoing",
    "Polled",
    "PreconditionFailed",
    "Published",
    "Registered",
    "Reject",
    "Retries",
    "Retry",
    "ScheduledMessage",
    "StoredMessage",
    "Task",
    "TooLarge",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "Worker",
]
