"""Dead letters: what staff's pages cost with very many, and how fast a redrive queues them again, beside others too."""

from concurrent.futures import ThreadPoolExecutor
from typing import LiteralString

from benchmarks import children, rows
from benchmarks.backlog import LEFT
from benchmarks.bench import Bench
from benchmarks.broker import BEAT, DISPATCH, WORKERS, Channel
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_least, at_most, ratio_at_most
from benchmarks.percentiles import percentile
from benchmarks.scenarios import mixed

ENDED: LiteralString = "SELECT finished_at IS NOT NULL FROM operation WHERE public_id = %(id)s"
PER_SECOND: LiteralString = """
SELECT done / extract(epoch FROM finished_at - created_at)::float8 FROM operation WHERE public_id = %(id)s
"""
QUEUED: LiteralString = "SELECT count(*) FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001"
PAGES = {"overview": "/admin/dlq_app/deadletter/overview/", "first list page": "/admin/dlq_app/deadletter/"}
# Of what the machine can do at most.
SHARE = 0.3


def run(bench: Bench) -> list[Figure]:
    alone = _redrive_alone(bench)
    bench.broker.wipe()
    beside = _redrive_beside(bench)
    bench.broker.wipe()
    return [alone, *beside, *_pages(bench)]


def _redrive_alone(bench: Bench) -> Figure:
    letters = bench.size(100_000, 2_000)
    channel = _paused_with_letters(bench, letters)
    with bench.broker.running(DISPATCH, BEAT):
        per_second = _redrive(bench, channel)
    if (queued := bench.broker.value(QUEUED, consumer=channel.consumers[0])) != letters:
        raise NotMeasured(f"Of {letters} letters {queued} were queued again.")
    return Figure("dead, redrive by filter", "letters/s", per_second, target=at_least(5_000.0))


def _redrive_beside(bench: Bench) -> list[Figure]:
    """The same traffic twice, on channels of its own: alone, and while letters are queued again."""
    per_second = moderate(bench)
    paused = _paused_with_letters(bench, bench.size(100_000, 2_000))
    with bench.broker.running(*WORKERS), ThreadPoolExecutor(1) as threads:
        traffic(bench, "/ok/warm", per_second, seconds=bench.size(5.0, 1.0))
        alone, left_alone = traffic(bench, "/ok/alone", per_second, seconds=bench.size(20.0, 2.0))
        redriven = threads.submit(_redrive, bench, paused)
        beside, left = traffic(bench, "/ok/beside", per_second, seconds=bench.size(20.0, 2.0))
        rate = redriven.result()
    return [
        Figure("dead, traffic at 30 % beside a redrive, p99", "ms", beside, alone, "alone", ratio_at_most(2.0)),
        Figure(
            "backlog left after the last message beside a redrive",
            "messages",
            left,
            left_alone,
            "alone",
            # A tenth of a second of traffic more: what is on its way at any moment.
            at_most(left_alone + 0.1 * per_second),
        ),
        Figure("dead, redrive beside traffic at 30 %", "letters/s", rate),
    ]


def moderate(bench: Bench) -> float:
    """Messages a second that leave room for something else. What was measured for it is wiped."""
    most = next(figure.measured for figure in mixed.run(bench) if "delivered" in figure.what)
    bench.broker.wipe()
    return SHARE * (most or 0.0)


def traffic(bench: Bench, path: str, per_second: float, seconds: float) -> tuple[float, float]:
    """The p99 from publish to receiver, and how many were still waiting when the last was published."""
    broker, channel = bench.broker, bench.broker.channel(k=bench.receiver.url(path))
    loaded = bench.load(channel, per_second=per_second, requests=max(1, int(per_second * seconds)))
    left = float(broker.value(LEFT, channel=channel.row_id, consumer=channel.consumers[0]))
    broker.wait_until(lambda: bench.receiver.seen(path).count >= loaded.accepted, "the last message")
    return percentile(bench.receiver.seen(path).under_way_ms, 99), left


def _redrive(bench: Bench, channel: Channel) -> float:
    broker = bench.broker
    asked = broker.post("/dead-letters/redrive", channel=channel.name, reason="http_5xx")
    broker.wait_until(lambda: broker.value(ENDED, id=asked["id"]), "the redrive")
    return float(broker.value(PER_SECOND, id=asked["id"]))


def _paused_with_letters(bench: Bench, letters: int) -> Channel:
    broker = bench.broker
    channel = broker.channel(k=bench.receiver.url("/ok/dead"))
    rows.add_dead(broker, channel, letters)
    broker.post(f"/channel/{channel.name}/consumer/k/pause")
    return channel


def _pages(bench: Bench) -> list[Figure]:
    _paused_with_letters(bench, bench.size(2_000, 200))
    few = _asked_for(bench)
    _paused_with_letters(bench, bench.size(2_000_000, 2_000))
    many = _asked_for(bench)
    return [figure for name in PAGES for figure in _page(name, few, many)]


def _page(name: str, few: dict[str, dict[str, float]], many: dict[str, dict[str, float]]) -> list[Figure]:
    before, after, what = few[PAGES[name]], many[PAGES[name]], f"dead, {name} with 2 M letters"
    return [
        Figure(what, "ms", after["median_ms"], before["median_ms"], "2 thousand", ratio_at_most(2.0)),
        Figure(f"{what}, at most 300 ms", "ms", after["median_ms"], target=at_most(300.0)),
        Figure(f"{what}: queries", "queries", after["queries"], before["queries"], "2 thousand", ratio_at_most(1.0)),
    ]


def _asked_for(bench: Bench) -> dict[str, dict[str, float]]:
    told = {"paths": list(PAGES.values()), "times": bench.size(30, 3)}
    found: dict[str, dict[str, float]] = children.ask("benchmarks.timers.pages", told, bench.broker.environment)
    return found
