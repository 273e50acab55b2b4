"""The dashboard: what its page and each refresh cost the server, and what one that is open costs deliveries."""

import time
from contextlib import AbstractContextManager, nullcontext
from statistics import mean

from benchmarks import children, rows
from benchmarks.backlog import drain, fill
from benchmarks.bench import Bench
from benchmarks.broker import WORKERS
from benchmarks.figures import Figure, at_most, ratio_at_least, ratio_at_most
from benchmarks.percentiles import percentile
from benchmarks.recorded import add_recorded
from benchmarks.scenarios.dead import moderate

PAGE, REFRESH = "/admin/watch/", "/admin/watch/data?range={range}&after={after}"
RANGES = ("1h", "48h", "30d")
Timed = dict[str, dict[str, float]]


def run(bench: Bench) -> list[Figure]:
    pages = _pages(bench)
    bench.broker.wipe()
    return [*pages, *_beside_a_backlog(bench), *_beside_traffic(bench)]


def _pages(bench: Bench) -> list[Figure]:
    few = _with(bench, messages=bench.size(5_000, 50), consumers=1)
    bench.broker.wipe()
    many = _with(bench, messages=bench.size(5_000_000, 2_000), consumers=100)
    return [figure for path in many for figure in _page(path, few[path], many[path])]


def _with(bench: Bench, *, messages: int, consumers: int) -> Timed:
    channel = bench.broker.channel(**{f"k{n}": bench.receiver.url("/ok/seen") for n in range(consumers)})
    rows.add_messages(bench.broker, channel, messages)
    add_recorded(bench.broker, channel)
    after = int(time.time()) - 60
    paths = {"first load": f"{PAGE}?range=1h"}
    paths |= {f"refresh of {words}": REFRESH.format(range=words, after=after) for words in RANGES}
    told = {"paths": list(paths.values()), "times": bench.size(30, 3)}
    found: Timed = children.ask("benchmarks.timers.pages", told, bench.broker.environment)
    return {name: found[path] for name, path in paths.items()}


def _page(name: str, few: dict[str, float], many: dict[str, float]) -> list[Figure]:
    what, limit = f"dashboard, {name} with 5 M messages and 100 consumers", 200.0 if name == "first load" else 30.0
    return [
        Figure(what, "ms", many["median_ms"], few["median_ms"], "5 thousand and 1", at_most(limit)),
        Figure(f"{what}: queries", "queries", many["queries"], few["queries"], "5 thousand and 1", ratio_at_most(1.0)),
    ]


def _beside_a_backlog(bench: Bench) -> list[Figure]:
    """In turns, so that a machine that slows down slows both."""
    turns = [(_drained(bench, nullcontext()), _drained(bench, _viewer(bench))) for _ in range(bench.size(4, 1))]
    alone, watched = (mean(column) for column in zip(*turns, strict=True))
    return [
        Figure("dashboard, backlog delivered beside it", "deliveries/s", watched, alone, "alone", ratio_at_least(0.98))
    ]


def _drained(bench: Bench, beside: AbstractContextManager[None]) -> float:
    bench.broker.wipe()
    channel = bench.broker.channel(k=bench.receiver.url("/ok/watched"))
    fill(bench, channel, bench.size(20_000, 200))
    with beside:
        return drain(bench, channel)


def _beside_traffic(bench: Bench) -> list[Figure]:
    """At 30 % of what the machine can do."""
    bench.broker.wipe()
    per_second = moderate(bench)
    with bench.broker.running(*WORKERS):
        _traffic(bench, "/ok/warm", per_second)
        turns = [_turn(bench, number, per_second) for number in range(bench.size(8, 1))]
    alone = [took for turn, _ in turns for took in turn]
    watched = [took for _, turn in turns for took in turn]
    return [
        Figure(f"dashboard, traffic at 30 % beside it, p{percent}", "ms", *_of(watched, alone, percent), target)
        for percent, target in ((50, ratio_at_most(1.02)), (99, None))
    ]


def _of(watched: list[float], alone: list[float], percent: int) -> tuple[float, float, str]:
    return percentile(watched, percent), percentile(alone, percent), "alone"


def _turn(bench: Bench, number: int, per_second: float) -> tuple[list[float], list[float]]:
    """Alone and watched. Who comes second finds more rows, so each is first every other time."""
    if number % 2:
        alone = _traffic(bench, f"/ok/alone-{number}", per_second)
        return alone, _watched(bench, number, per_second)
    watched = _watched(bench, number, per_second)
    return _traffic(bench, f"/ok/alone-{number}", per_second), watched


def _watched(bench: Bench, number: int, per_second: float) -> list[float]:
    with _viewer(bench):
        return _traffic(bench, f"/ok/beside-{number}", per_second)


def _traffic(bench: Bench, path: str, per_second: float) -> list[float]:
    """How long each message was under way, in ms."""
    channel = bench.broker.channel(k=bench.receiver.url(path))
    requests = max(1, int(per_second * bench.size(10.0, 1.0)))
    loaded = bench.load(channel, per_second=per_second, requests=requests)
    bench.broker.wait_until(lambda: bench.receiver.seen(path).count >= loaded.accepted, "the last message")
    return bench.receiver.seen(path).under_way_ms


def _viewer(bench: Bench) -> AbstractContextManager[None]:
    said = children.ask("benchmarks.timers.session", None, bench.broker.environment)
    told = {"host": bench.broker.plan.host, "port": bench.broker.plan.port, "cookie": said["cookie"]}
    return children.under_way("benchmarks.viewer", told)
