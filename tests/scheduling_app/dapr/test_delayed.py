"""The listing of delayed messages, in the real database."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from psycopg import AsyncConnection

from scheduling_app.dapr import delayed
from scheduling_app.dapr.delayed import After, Delayed, Listing
from scheduling_app.models import ScheduledMessage
from tests.channels_app.delivery.test_accept_batch import at_once
from tests.channels_app.registry import make_channel, make_producer
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db(transaction=True)

LISTING = Listing("shop-delayed", None, is_manager=True)


def make(count: int, listing: str = "shop-delayed") -> None:
    channel, producer = make_channel(listing), make_producer(listing)
    for number in range(count):
        make_scheduled(channel, producer, f"m{number}", dapr={"listing": listing})


async def taken(own: AsyncConnection, most: Any) -> list[Delayed]:
    return await delayed.take(own, LISTING, most=most)


def test_takers_at_once_share_and_each_message_is_handed_over_once() -> None:
    make(30)

    handed = [one.message_id for part in at_once(taken, *[10] * 6) for one in part]

    assert len(handed) == len(set(handed)) == 30 - ScheduledMessage.objects.waiting().count()
    assert set(ScheduledMessage.objects.filter(status=102).values_list("reason", flat=True)) == {"taken"}


@pytest.mark.parametrize("is_manager", [True, False])
def test_a_listing_is_read_along_its_index(is_manager: bool) -> None:
    make(200)
    make(200, "bank-delayed")
    listing = LISTING._replace(is_manager=is_manager)
    values = {**listing.values, "due": datetime(1970, 1, 1, tzinfo=UTC), "id": 0, "most": 10}
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE scheduled_message")
        cursor.execute(f"EXPLAIN {delayed._PAGE}", values)
        assert "scheduled_listing" in str(cursor.fetchall())


def test_a_page_begins_behind_the_last_of_the_one_before() -> None:
    make(3)

    async def pages(own: AsyncConnection, _: Any) -> list[str]:
        after, found = After(datetime(1970, 1, 1, tzinfo=UTC), 0), []
        while True:
            page = await delayed.page(own, LISTING, after=after, most=1)
            found += [one.message_id for one in page.messages]
            if not page.has_more:
                return found
            after = After(page.messages[-1].due_at, page.messages[-1].row_id)

    assert at_once(pages, None) == [["m0", "m1", "m2"]]
