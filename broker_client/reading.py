"""How messages and jobs stand."""

from broker_client.flow import Flow, Request, path
from broker_client.identity import Identity
from broker_client.values import Job, JobState, StoredMessage, Task


def message(identity: Identity, channel: str, message_id: str) -> Flow[StoredMessage]:
    """A message with its jobs."""
    answer = yield Request("GET", path("channel", channel, "message", message_id), identity.as_reader(channel))
    return StoredMessage.of(answer.expect().json())


def task(identity: Identity, channel: str, message_id: str) -> Flow[Task]:
    """A message's state over all its jobs."""
    answer = yield Request("GET", path("channel", channel, "task", message_id), identity.as_reader(channel))
    return Task.of(answer.expect().json())


def job(identity: Identity, channel: str, consumer: str, job_id: str) -> Flow[JobState]:
    """A job's state, times and attempts."""
    where = path("channel", channel, "consumer", consumer, "job", job_id)
    answer = yield Request("GET", where, identity.as_manager() or identity.as_consumer(channel, consumer))
    return JobState.of(answer.expect().json())


def peek(identity: Identity, channel: str, consumer: str, *, limit: int = 25) -> Flow[list[Job]]:
    """The jobs that wait, best first; they stay where they are."""
    where = path("channel", channel, "consumer", consumer, "queued-jobs") + f"?limit={limit}"
    answer = yield Request("GET", where, identity.as_manager() or identity.as_consumer(channel, consumer))
    return [Job.of(found) for found in answer.expect().json()["result"]]
