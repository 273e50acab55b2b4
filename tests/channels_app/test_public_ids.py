import pytest
from django.db import DataError, IntegrityError, transaction

from channels_app import services
from channels_app.errors import InvalidId
from channels_app.models import Channel, Consumer, Producer
from channels_app.models.consumer import ConsumerType
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db
ILLEGAL = ["", "shop/orders", "a b", "ä", "line\n", "x" * 256]


@pytest.mark.parametrize("public_id", [*ILLEGAL, "nul\x00"])
def test_nothing_is_made_with_an_id_that_is_none(public_id: str) -> None:
    channel = make_channel()
    with pytest.raises(InvalidId):
        services.create(Channel(public_id=public_id), values={})
    with pytest.raises(InvalidId):
        services.create(Consumer(channel=channel, public_id=public_id), values={"type": ConsumerType.PULL})


@pytest.mark.parametrize("public_id", ILLEGAL)
@pytest.mark.parametrize("model", [Channel, Producer])
def test_the_database_takes_no_id_that_is_none(model: type[Channel | Producer], public_id: str) -> None:
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        model.objects.create(public_id=public_id, name="x")


@pytest.mark.parametrize("public_id", ILLEGAL)
def test_nor_one_of_a_consumer(public_id: str) -> None:
    with pytest.raises((IntegrityError, DataError)), transaction.atomic():
        Consumer.objects.create(channel=make_channel(), public_id=public_id, type=ConsumerType.PULL)
