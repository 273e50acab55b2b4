"""What the broker shows, as values. Times are aware datetimes; payloads are bytes."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Document = Mapping[str, Any]


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def payload_of(document: Document) -> bytes:
    if "payloadBase64" in document:
        return base64.b64decode(document["payloadBase64"])
    return str(document.get("payload", "")).encode()


@dataclass(frozen=True)
class Message:
    """What was published."""

    id: str
    payload: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, document: Document) -> "Message":
        return cls(
            id=document["messageId"],
            payload=payload_of(document),
            content_type=document["contentType"],
            headers=document.get("headers") or {},
        )

    def text(self) -> str:
        return self.payload.decode()

    def json(self) -> Any:
        return json.loads(self.payload)


@dataclass(frozen=True)
class Published:
    """Stored: the broker answers for it from here on."""

    message_id: str
    location: str

    @property
    def is_scheduled(self) -> bool:
        return "/scheduled-message/" in self.location


@dataclass(frozen=True)
class Job:
    """A message's way to one consumer, yours until `lease_until`. `attempt` says which time this is."""

    id: str
    attempt: int
    priority: int
    message: Message
    lease_until: datetime | None = None
    published_at: datetime | None = None

    @classmethod
    def of(cls, document: Document) -> "Job":
        return cls(
            id=document["id"],
            attempt=document["attempt"],
            priority=document["priority"],
            message=Message.of(document["message"]),
            lease_until=moment(document.get("leaseUntil")),
            published_at=moment(document.get("publishedAt")),
        )

    @property
    def payload(self) -> bytes:
        return self.message.payload

    def text(self) -> str:
        return self.message.text()

    def json(self) -> Any:
        return self.message.json()


@dataclass(frozen=True)
class JobState:
    """How a job stands. `document` is all that the broker says of it, the history of its attempts too."""

    id: str
    status: str
    attempt: int
    device_id: str | None
    published_at: datetime | None
    received_at: datetime | None
    started_at: datetime | None
    completed_at: datetime | None
    next_attempt_at: datetime | None
    document: Document = field(repr=False)

    @classmethod
    def of(cls, document: Document) -> "JobState":
        return cls(
            id=document["id"],
            status=document["status"],
            attempt=document["attempt"],
            device_id=document.get("deviceId"),
            published_at=moment(document.get("publishedAt")),
            received_at=moment(document.get("receivedAt")),
            started_at=moment(document.get("startedAt")),
            completed_at=moment(document.get("completedAt")),
            next_attempt_at=moment(document.get("nextAttemptAt")),
            document=document,
        )


@dataclass(frozen=True)
class StoredMessage:
    """A message as the broker keeps it, and its jobs, one for each consumer."""

    message: Message
    status: str
    priority: int
    produced_by: str
    received_at: datetime | None
    dispatched_at: datetime | None
    jobs: tuple[JobState, ...]

    @classmethod
    def of(cls, document: Document) -> "StoredMessage":
        return cls(
            message=Message.of({**document, "messageId": document["id"]}),
            status=document["status"],
            priority=document["priority"],
            produced_by=document["producedBy"],
            received_at=moment(document["receivedAt"]),
            dispatched_at=moment(document["dispatchedAt"]),
            jobs=tuple(JobState.of(job) for job in document["jobs"]),
        )


@dataclass(frozen=True)
class Task:
    """A message's state over all its jobs."""

    status: str
    jobs: tuple[JobState, ...]
    document: Document = field(repr=False)

    @classmethod
    def of(cls, document: Document) -> "Task":
        jobs = tuple(JobState.of(job) for job in document["jobs"])
        return cls(status=document["status"], jobs=jobs, document=document)


@dataclass(frozen=True)
class ScheduledMessage:
    """A message for later."""

    message: Message
    status: str
    priority: int
    produced_by: str
    scheduled_for: datetime | None
    dispatched_at: datetime | None

    @classmethod
    def of(cls, document: Document) -> "ScheduledMessage":
        return cls(
            message=Message.of(document),
            status=document["status"],
            priority=document["priority"],
            produced_by=document["producedBy"],
            scheduled_for=moment(document["dispatchSchedule"]),
            dispatched_at=moment(document["dispatchedDate"]),
        )


@dataclass(frozen=True)
class Registered:
    """A channel, a producer or a consumer. `token` and `settings` are as the broker shows them to you."""

    id: str
    name: str
    changed_at: datetime | None
    token: str = field(repr=False)
    settings: Document = field(repr=False)

    @classmethod
    def of(cls, document: Document) -> "Registered":
        return cls(
            id=document["id"],
            name=document["name"],
            changed_at=moment(document["changedAt"]),
            token=document.get("token", ""),
            settings=document,
        )


@dataclass(frozen=True)
class ItemResult:
    """What became of one item of acks or extensions: applied, duplicate, stale or unknown."""

    job_id: str
    result: str

    @classmethod
    def of(cls, document: Document) -> "ItemResult":
        return cls(document["jobId"], document["result"])

    @property
    def is_lost(self) -> bool:
        """This attempt is not yours any more."""
        return self.result in ("stale", "unknown")
