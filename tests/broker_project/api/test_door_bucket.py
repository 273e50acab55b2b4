"""Rate limits at the door, in the real Redis."""

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar
from weakref import ReferenceType, ref

import redis
from django.conf import settings
from redis.asyncio import ConnectionPool, Redis

from broker_project.api.door_bucket import DoorBucket, close_door_bucket, door_bucket
from broker_project.api.token_bucket import Limit

Value = TypeVar("Value")
SLOW, WIDE = Limit("slow", 0.01, 2), Limit("wide", 1000.0, 1000)


def with_bucket(story: Callable[[DoorBucket], Awaitable[Value]], url: str = "") -> Value:
    """A Redis that is there is waited for, also on a busy machine."""

    async def run() -> Value:
        async with Redis.from_url(url or settings.REDIS_URL) as client:
            return await story(DoorBucket(client, settings.LIMIT_PATIENCE_SECONDS if url else 30.0))

    return asyncio.run(run())


def test_the_limit_that_is_in_the_way_is_named_and_takes_nothing_from_the_other(redis_client: redis.Redis) -> None:
    async def story(bucket: DoorBucket) -> None:
        assert [await bucket.take((WIDE, SLOW)) for _ in range(2)] == [None, None]
        left = float(redis_client.hget("bucket:wide", "tokens"))  # type: ignore[arg-type]
        refusal = await bucket.take((WIDE, SLOW))
        assert refusal is not None
        assert refusal[0] is SLOW
        assert 95 < refusal[1] <= 100
        assert float(redis_client.hget("bucket:wide", "tokens")) >= left  # type: ignore[arg-type]

    with_bucket(story)


def test_more_than_a_bucket_holds_is_given_when_it_is_full_and_owed(redis_client: redis.Redis) -> None:
    async def story(bucket: DoorBucket) -> None:
        assert await bucket.take((SLOW,), 12) is None
        refusal = await bucket.take((SLOW,), 12)
        assert refusal is not None
        # Ten are owed and two fill the bucket: at a hundredth a second, twenty minutes.
        assert 1190 < refusal[1] <= 1200
        assert int(str(redis_client.pttl("bucket:slow"))) > 1_190_000

    with_bucket(story)


def test_a_redis_that_is_away_is_asked_once_and_then_left_alone() -> None:
    async def story(bucket: DoorBucket) -> None:
        assert [await bucket.take((SLOW,)) for _ in range(5)] == [None] * 5
        assert bucket.opened == 1

    with_bucket(story, "unix:///nonexistent/redis.sock")


def test_a_redis_that_hangs_lets_everybody_in(tmp_path: Path) -> None:
    """It takes connections and never says a word."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "s"))
        silent.listen(100)

        async def story(bucket: DoorBucket) -> None:
            asked = await asyncio.gather(*(bucket.take((SLOW,)) for _ in range(50)))
            assert asked == [None] * 50
            assert bucket.opened == 1

        with_bucket(story, f"unix://{tmp_path / 's'}")


def test_at_the_end_nothing_is_left_for_python_to_take_down() -> None:
    async def story() -> ReferenceType[ConnectionPool]:
        await door_bucket().take((WIDE,))
        pool = ref(door_bucket()._client.connection_pool)
        await close_door_bucket()
        await close_door_bucket()
        return pool

    pool = asyncio.run(story())
    gc.collect()
    assert pool() is None
