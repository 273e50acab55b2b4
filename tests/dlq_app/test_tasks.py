"""The sweeps of dead letters: the task does the step, counts what moved and rings for who has work."""

from datetime import timedelta

import pytest
import redis
from django.db.models.functions import Now

from broker_project.lib.tally import ALL, tally
from channels_app import services
from channels_app.models import Alert, Channel, Consumer, DeliveryJob, JobStatus, Producer
from channels_app.tasks import tell_alerts, watch_alerts
from dlq_app import policies, tasks
from dlq_app.models import DeadLetter
from tests.dlq_app.letters import make_dead
from watch_app.models import AlertRule

# Each statement has its own time: letters enter before a consumer recovers.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_rules_but_policies(db: None) -> None:
    AlertRule.objects.all().delete()


@pytest.fixture
def counted(redis_client: redis.Redis) -> redis.Redis:
    """What this process had gathered before goes first, and away."""
    while not tally().flush():
        pass
    redis_client.flushdb()
    return redis_client


def test_what_the_sweeps_moved_is_counted(
    channel: Channel, consumer: Consumer, producer: Producer, counted: redis.Redis
) -> None:
    policies.put(channel, values={"retention_days": 7, "auto_redrive": True}, by="anna")
    old, young = make_dead(consumer, producer), make_dead(consumer, producer)
    DeadLetter.objects.filter(pk=old.pk).update(entered_at=Now() - timedelta(days=8))
    services.pause(consumer)
    services.resume(consumer)

    tasks.remove_old()
    tasks.redrive_recovered()

    assert DeliveryJob.objects.get(status=JobStatus.QUEUED).pk == young.job_id
    assert tally().flush()
    fields = counted.hgetall(ALL)
    assert fields[b"sweep_moved|dlq_app.remove_old"] == b"1"
    assert fields[b"sweep_moved|dlq_app.redrive_recovered"] == b"1"


def test_an_alert_is_kept_where_there_is_nobody_to_tell(
    channel: Channel, consumer: Consumer, producer: Producer
) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)

    watch_alerts()
    tell_alerts()

    alert = Alert.objects.get()
    assert (alert.kind, alert.value, alert.began_posted_at) == ("depth", 2, None)
