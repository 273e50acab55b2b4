"""A consumer breaks and fails a thousand jobs a second: retries come at their times, and the dead are kept."""

from typing import LiteralString

from benchmarks.bench import Bench
from benchmarks.broker import WORKERS, Channel
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_most, ratio_at_least

PER_SECOND, A_REQUEST = 1_000, 50
CALM, STORM = "/ok/storm", "/fail/storm"
BREAK: LiteralString = "UPDATE consumer SET callback_url = %(url)s WHERE id = %(consumer)s"
LETTERS: LiteralString = "SELECT count(*) FROM dead_letter WHERE channel_id = %(channel)s"
# A try began so long before it ended; the one after it was due so long after that.
LATE: LiteralString = """
SELECT percentile_cont(%(share)s) WITHIN GROUP (ORDER BY 1000 * extract(epoch FROM
    second.finished_at - make_interval(secs => second.duration_ms / 1000.0)
    - first.finished_at - make_interval(secs => %(wait)s)))
FROM delivery_attempt first JOIN delivery_attempt second ON second.job_id = first.job_id
WHERE first.attempt = 1 AND second.attempt = 2
"""
# How fast the middle of them went: the first and the last tenth are the storm's beginning and end.
PACE: LiteralString = """
SELECT 0.8 * count(*) / extract(epoch FROM percentile_disc(0.9) WITHIN GROUP (ORDER BY at)
                                        - percentile_disc(0.1) WITHIN GROUP (ORDER BY at))::float8
FROM ({moments}) AS moment (at)
"""
FAILED: LiteralString = "SELECT finished_at FROM delivery_attempt WHERE attempt = %(attempt)s AND reason IS NOT NULL"
ENTERED: LiteralString = "SELECT entered_at FROM dead_letter WHERE channel_id = %(channel)s"


def run(bench: Bench) -> list[Figure]:
    """Each job is tried, waits, is tried once more, and is dead: two thousand tries a second while both overlap."""
    broker, requests, wait = bench.broker, bench.size(60, 2) * PER_SECOND // A_REQUEST, bench.size(10, 1)
    policy = {"retries": 1, "initialSeconds": wait, "jitter": "none"}
    channel = broker.pushed(
        callbackUrl=bench.receiver.url(CALM), circuitBreaker=False, maxInFlight=500, retryPolicy=policy
    )
    with broker.running(*WORKERS):
        _break(bench, channel)
        loaded = bench.load(channel, batch=A_REQUEST, requests=requests, per_second=PER_SECOND / A_REQUEST)
        if loaded.accepted != requests:
            raise NotMeasured(f"Of {requests} requests {loaded.accepted} were accepted: {loaded.statuses}")
        messages = requests * A_REQUEST
        broker.wait_until(lambda: broker.value(LETTERS, channel=channel.row_id) >= messages, "the last letter", 0.5)
    late = [float(broker.value(LATE, share=share, wait=wait)) for share in (0.5, 0.99)]
    failing, dying = (_pace(bench, FAILED, attempt=attempt) for attempt in (1, 2))
    entered = _pace(bench, ENTERED, channel=channel.row_id)
    return [
        Figure("retry, lateness, p99", "ms", late[1], target=at_most(1_000.0)),
        Figure("retry, lateness, p50", "ms", late[0]),
        Figure(
            "retry, failing into retry", "jobs/s", failing, loaded.accepted * A_REQUEST / loaded.seconds, "published"
        ),
        Figure("retry, dead letters entered", "letters/s", entered, dying, "jobs that died", ratio_at_least(0.99)),
    ]


def _break(bench: Bench, channel: Channel) -> None:
    """It was well before, and is known to take many at a time."""
    messages = bench.size(2_000, 50)
    bench.load(channel, requests=messages)
    bench.broker.wait_until(lambda: bench.receiver.seen(CALM).count >= messages, "the calm before")
    bench.broker.database.execute(BREAK, {"consumer": channel.consumers[0], "url": bench.receiver.url(STORM)})


def _pace(bench: Bench, moments: LiteralString, **told: int) -> float:
    return float(bench.broker.value(PACE.replace("{moments}", moments), **told))
