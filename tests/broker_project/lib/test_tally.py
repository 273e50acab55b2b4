"""Counts of several processes, in the real Redis, also while it hangs."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import redis

from broker_project.embedded import services
from broker_project.lib.tally import ALL, LOST, MOST_FIELDS, Tally
from tests.acceptance.servers import wait_until

RINGS = (ALL, "rings")


@pytest.fixture
def own_redis() -> Iterator[redis.Redis]:
    """A Redis that may be stopped without hurting another test; its clients wait a fifth of a second."""
    with TemporaryDirectory(prefix="tally-") as name:
        directory = Path(name).resolve()
        directory.chmod(0o755)
        with services(directory, ["redis"]) as found, _client(found["REDIS_URL"]) as client:
            yield client


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=0.2, decode_responses=True)


def test_two_processes_add_to_the_same_counts(redis_client: redis.Redis) -> None:
    here, there = Tally(redis_client), Tally(redis_client)

    here.add({RINGS: 2, (ALL, "seconds"): 0.25})
    there.add({RINGS: 3, ("metrics:channel:orders", "attempts|ok"): 1})
    assert here.flush()
    assert there.flush()

    assert redis_client.hgetall(ALL) == {b"rings": b"5", b"seconds": b"0.25"}
    assert redis_client.hgetall("metrics:channel:orders") == {b"attempts|ok": b"1"}
    assert int(str(redis_client.ttl(ALL))) > 0


def test_what_is_added_is_sent_without_asking(redis_client: redis.Redis) -> None:
    tally = Tally(redis_client)
    tally.start()

    tally.add({RINGS: 1})

    wait_until(lambda: redis_client.hget(ALL, "rings") == b"1", 10)


def test_a_redis_that_hangs_and_wakes_up_counts_each_batch_once(own_redis: redis.Redis) -> None:
    tally = Tally(own_redis)
    server = own_redis.info()["process_id"]
    tally.add({RINGS: 1})
    assert tally.flush()

    os.kill(server, signal.SIGSTOP)
    tally.add({RINGS: 10})
    refused = [tally.flush() for _ in range(3)]
    tally.add({RINGS: 100})
    os.kill(server, signal.SIGCONT)
    wait_until(tally.flush, 10)
    wait_until(tally.flush, 10)

    assert refused == [False, False, False]
    assert own_redis.hget(ALL, "rings") == "111"


def test_a_redis_that_forgets_begins_again_at_nothing(redis_client: redis.Redis) -> None:
    tally = Tally(redis_client)
    tally.add({RINGS: 7})
    tally.flush()

    redis_client.flushdb()
    tally.add({RINGS: 1})
    tally.flush()

    assert redis_client.hget(ALL, "rings") == b"1"


def test_what_is_kept_has_a_bound_and_what_is_lost_is_counted(redis_client: redis.Redis) -> None:
    tally = Tally(redis_client)

    tally.add({(ALL, f"field|{number}"): 1 for number in range(MOST_FIELDS + 3)})
    tally.add({(ALL, "field|0"): 1})
    tally.flush()

    assert redis_client.hlen(ALL) == MOST_FIELDS + 1
    assert (redis_client.hget(ALL, LOST), redis_client.hget(ALL, "field|0")) == (b"3", b"2")
