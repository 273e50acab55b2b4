"""Too many dead letters, or one that waits too long: told once an episode, and when it is over."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models.functions import Now
from django.utils import timezone

from broker_project.lib.webhooks import new_secret, sign
from broker_project.settings.environment import readable_secret, readable_webhook
from channels_app.alerts.telling import tell
from channels_app.alerts.watching import watch
from channels_app.models import Alert, Channel, Consumer, Producer
from dlq_app import policies
from dlq_app.models import DeadLetter
from dlq_app.requeue import requeue
from tests.acceptance.receiver import Receiver, receiving
from tests.dlq_app.letters import make_dead
from watch_app.models import AlertRule

pytestmark = pytest.mark.django_db

SECRET = new_secret()


@pytest.fixture(autouse=True)
def _no_rules_but_policies(db: None) -> None:
    AlertRule.objects.all().delete()


@pytest.fixture
def webhook(settings: Any) -> Iterator[Receiver]:
    with receiving() as receiver:
        settings.OPERATIONS_WEBHOOK_URL = f"{receiver.url}/operations"
        settings.OPERATIONS_WEBHOOK_SECRET = SECRET
        yield receiver


def told(webhook: Receiver) -> list[tuple[str, str]]:
    bodies = [json.loads(delivery.body) for delivery in webhook.deliveries]
    return [(body["type"].removeprefix("dead_letters.alert_"), body["kind"]) for body in bodies]


def clear() -> None:
    requeue(DeadLetter.objects.all(), by="anna", most_times=10)


def test_a_channel_that_is_too_deep_is_told_once_and_when_it_is_over(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver
) -> None:
    policies.put(channel, values={"alert_depth": 2}, by="anna")
    for expected in ([], [], [("began", "depth")], [("began", "depth")]):
        make_dead(consumer, producer)
        watch(timezone.now())
        tell()
        assert told(webhook) == expected

    clear()
    watch(timezone.now())
    tell()
    tell()

    assert told(webhook) == [("began", "depth"), ("ended", "depth")]
    alert = Alert.objects.get()
    assert (alert.threshold, alert.value) == (2, 3)
    assert alert.ended_at is not None
    began, ended = (json.loads(delivery.body) for delivery in webhook.deliveries)
    assert (began["channel"], began["threshold"], began["value"], began["endedAt"]) == ("orders", 2, 3, None)
    assert ended["endedAt"] is not None


def test_a_letter_that_waits_too_long_is_told(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver
) -> None:
    policies.put(channel, values={"alert_age_seconds": 3600}, by="anna")
    make_dead(consumer, producer)
    assert watch(timezone.now()) == 0

    DeadLetter.objects.update(entered_at=Now() - timedelta(hours=2))
    assert watch(timezone.now()) == 1
    tell()

    assert told(webhook) == [("began", "age")]
    assert Alert.objects.get().value >= 7200


def test_the_next_episode_is_told_again(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver
) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        for _ in range(2):
            make_dead(consumer, producer)
        watch(timezone.now())
        clear()
        watch(timezone.now())
    tell()

    assert told(webhook) == [("began", "depth"), ("ended", "depth")] * 2


def test_news_are_signed_and_have_an_id_of_their_own(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver
) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)
    watch(timezone.now())
    webhook.answer = lambda _delivery: 500
    tell()
    webhook.answer = lambda _delivery: 204
    tell()

    first, second = webhook.deliveries
    assert (first.path, first.body, first.headers["webhook-id"]) == (
        "/operations",
        second.body,
        second.headers["webhook-id"],
    )
    at = int(second.headers["webhook-timestamp"])
    signature = sign(second.body, message_id=second.headers["webhook-id"], at=at, live=[SECRET])
    assert second.headers["webhook-signature"] == signature


def test_what_was_not_heard_is_told_again_until_it_is(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver, settings: Any
) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)
    watch(timezone.now())
    heard_at = settings.OPERATIONS_WEBHOOK_URL
    settings.OPERATIONS_WEBHOOK_URL = "http://127.0.0.1:1/"
    assert tell() == 0
    settings.OPERATIONS_WEBHOOK_URL = "http://10.0.0.1/not-allowed"
    assert tell() == 0
    settings.OPERATIONS_WEBHOOK_URL = heard_at

    assert (tell(), tell()) == (1, 0)
    assert told(webhook) == [("began", "depth")]


def test_a_webhook_that_is_set_late_is_told_what_is_still_so_and_not_of_old_times(
    channel: Channel, consumer: Consumer, producer: Producer, webhook: Receiver, settings: Any
) -> None:
    heard_at, settings.OPERATIONS_WEBHOOK_URL = settings.OPERATIONS_WEBHOOK_URL, ""
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)
    watch(timezone.now())
    assert tell() == 0
    two_days_ago = Now() - timedelta(days=2)
    Alert.objects.update(began_at=two_days_ago, ended_at=two_days_ago)
    settings.OPERATIONS_WEBHOOK_URL = heard_at

    assert tell() == 0
    assert not webhook.deliveries
    Alert.objects.update(ended_at=None)
    assert tell() == 1


def test_an_alert_ends_when_nobody_wants_it_any_more(channel: Channel, consumer: Consumer, producer: Producer) -> None:
    policies.put(channel, values={"alert_depth": 1}, by="anna")
    for _ in range(2):
        make_dead(consumer, producer)
    assert watch(timezone.now()) == 1

    policies.put(channel, values={"alert_depth": None}, by="anna")

    assert watch(timezone.now()) == 1
    assert Alert.objects.get().ended_at is not None
    assert watch(timezone.now()) == 0


@pytest.mark.parametrize("url", ["operations", "ftp://example.com/", "http://a:b@example.com/"])
def test_a_webhook_that_cannot_be_posted_to_stops_the_start(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="OPERATIONS_WEBHOOK_URL"):
        readable_webhook(url)


def test_a_secret_that_cannot_sign_stops_the_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="OPERATIONS_WEBHOOK_SECRET"):
        readable_secret("whsec_abc")
    assert readable_secret(SECRET) == SECRET
    assert (readable_secret(""), readable_webhook("")) == ("", "")
