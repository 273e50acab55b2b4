"""The rows of the core. Status and time are written here and nowhere else."""

from channels_app.models.alert import Alert, AlertKind
from channels_app.models.api_key import ApiKey
from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer
from channels_app.models.counter import Counter, CounterDelta, CounterKind
from channels_app.models.delivery_job import DeliveryAttempt, DeliveryJob, JobStatus
from channels_app.models.message import Message, MessageKey, MessageStatus
from channels_app.models.operation import Operation, OperationStatus
from channels_app.models.producer import Producer
from channels_app.models.progress import Progress
from channels_app.models.registry_version import RegistryVersion
from channels_app.models.state import ChannelState, ConsumerState

__all__ = [
    "Alert",
    "AlertKind",
    "ApiKey",
    "Channel",
    "ChannelState",
    "Consumer",
    "ConsumerState",
    "Counter",
    "CounterDelta",
    "CounterKind",
    "DeliveryAttempt",
    "DeliveryJob",
    "JobStatus",
    "Message",
    "MessageKey",
    "MessageStatus",
    "Operation",
    "OperationStatus",
    "Producer",
    "Progress",
    "RegistryVersion",
]
