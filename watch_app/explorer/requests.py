"""The requests of a message's life: how it would be published again, and how each try was sent to its consumer."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from urllib.parse import urlsplit

from django.conf import settings

from channels_app.delivery.claim import Job
from channels_app.delivery.target import Addressee
from channels_app.delivery.webhook import headers_of
from channels_app.models import DeliveryAttempt, DeliveryJob, Message
from channels_app.models.message import as_text
from scheduling_app.models import ScheduledMessage
from watch_app.explorer.curl import MOST_IN_COMMAND, Command

NOT_SHOWN = "(not shown)"
# Of a request to a consumer: what only the two of them know, and the variable that stands for it in a command.
SECRETS = {"X-Broker-Consumer-Token": "CONSUMER_TOKEN", "webhook-signature": "WEBHOOK_SIGNATURE"}


@dataclass(frozen=True)
class Content:
    """A payload as commands need it: not read where it is too long for one."""

    payload: bytes | None
    size: int
    file: str


@dataclass(frozen=True)
class Sent:
    """A try's request as it went out; the address as it is set now, whole only for those who may see secrets."""

    url: str
    headers: list[tuple[str, str]]
    size: int
    curl: str


class _Stranger(Addressee):
    """A consumer, without what only it and the broker know."""

    @cached_property
    def token(self) -> str:
        return ""

    @cached_property
    def secrets(self) -> list[str]:
        return []


def file_name(message_id: str) -> str:
    return f"{message_id}.payload"


def is_for_a_command(size: int) -> bool:
    return size <= MOST_IN_COMMAND


def publish_again(message: Message | ScheduledMessage, content: Content) -> str:
    """As a new message: an id is taken once, so it is given another."""
    told = {
        "X-Broker-Producer-ID": message.producer.public_id,
        "Content-Type": message.content_type,
        **({"X-Broker-Message-Priority": str(message.priority)} if message.priority else {}),
        **({"X-Broker-Metadata-Headers": ",".join(message.headers)} if message.headers else {}),
        **message.headers,
    }
    secrets = {"X-Broker-Channel-Token": "CHANNEL_TOKEN", "X-Broker-Producer-Token": "PRODUCER_TOKEN"}
    url = f"{settings.PUBLIC_URL.rstrip('/')}/channel/{message.channel.public_id}/broadcast"
    return Command(url, told, secrets, content.payload, content.file).text


def sent(attempt: DeliveryAttempt, job: DeliveryJob, message: Message, content: Content, *, whole_url: bool) -> Sent:
    """`job` comes with its consumer and channel."""
    headers = _headers(attempt, job, message)
    url = job.consumer.callback_url
    command = Command(
        url if whole_url else "$CALLBACK_URL",
        {name: value for name, value in headers.items() if name not in SECRETS},
        SECRETS,
        content.payload,
        content.file,
    )
    return Sent(url if whole_url else cut_url(url), _for_people(headers), content.size, command.text)


def cut_url(url: str) -> str:
    """The host: the rest of a callback URL may hold a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def _headers(attempt: DeliveryAttempt, job: DeliveryJob, message: Message) -> dict[str, str]:
    consumer = job.consumer
    to = _Stranger(consumer.pk, consumer.public_id, consumer.channel.public_id, consumer.callback_url, "", "", None)
    work = Job(
        job_id=job.pk,
        attempt=attempt.attempt,
        failures=0,
        priority=job.priority,
        message_id=message.message_id,
        payload=b"",
        content_type=message.content_type,
        headers=message.headers,
        is_expired=False,
    )
    began = attempt.finished_at - timedelta(milliseconds=attempt.duration_ms)
    return {**headers_of(to, work), "webhook-timestamp": str(int(began.timestamp()))}


def _for_people(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, NOT_SHOWN if name in SECRETS else as_text(value)) for name, value in headers.items()]
