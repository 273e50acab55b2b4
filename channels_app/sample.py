"""A channel, a producer and a consumer to try the broker with, made on the first run of the development profile."""

from django.conf import settings

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import Channel, Consumer, Producer

CHANNEL, PRODUCER, CONSUMER = "sample-channel", "sample-producer", "sample-consumer"
CURL = f"""\
curl -i {{url}}/channel/{CHANNEL}/broadcast \\
  -H 'X-Broker-Channel-Token: {CHANNEL}-token' \\
  -H 'X-Broker-Producer-ID: {PRODUCER}' -H 'X-Broker-Producer-Token: {PRODUCER}-token' \\
  -H 'Content-Type: application/json' -d '{{{{"hello": "world"}}}}'"""


def seed() -> None:
    """Tokens that anybody can read in the README: right for trying out, wrong for anything else."""
    channel, _ = services.put(Channel(public_id=CHANNEL), values={"token": f"{CHANNEL}-token"}, condition=Condition())
    services.put(Producer(public_id=PRODUCER), values={"token": f"{PRODUCER}-token"}, condition=Condition())
    services.put(
        Consumer(channel=channel, public_id=CONSUMER),
        values={"token": f"{CONSUMER}-token", "callback_url": settings.ECHO_URL},
        condition=Condition(),
    )


def curl() -> str | None:
    """The first call to try, while the sample is as it was made."""
    channel = Channel.objects.named(CHANNEL).first()
    if channel is None or channel.token != f"{CHANNEL}-token":
        return None
    return CURL.format(url=settings.PUBLIC_URL)
