"""What the dashboard makes of values: figures, pictures, lists, and what needs a look. No database is asked."""

import json
from dataclasses import replace

import pytest

from tests.watch_app.watched import AT, STEP, make_consumer, make_event, make_now, make_series
from watch_app.admin import sections, shown, words
from watch_app.admin.asked import RANGE_NAMES, RANGES, Asked
from watch_app.admin.charts import PLANS, ceiling, charts, path_of, whole, written
from watch_app.admin.figures import figures
from watch_app.admin.sight import Sight
from watch_app.admin.tiles import tiles
from watch_app.admin.verdict import notices
from watch_app.series import RANGES as RECORDED
from watch_app.values import Part, Percentiles, Scope

ALL = Sight()
BLIND = Sight(
    channels=False,
    consumers=False,
    jobs=False,
    letters=False,
    messages=False,
    scheduled=False,
    events=frozenset(),
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0, "0 ms"),
        (0.0004, "<1 ms"),
        (0.0844, "84 ms"),
        (0.9999, "1.0 s"),
        (2.44, "2.4 s"),
        (119, "119 s"),
        (600, "10 min"),
        (10_000, "3 h"),
        (900_000, "10 d"),
    ],
)
def test_a_length_of_time_is_written_in_the_unit_that_people_use(seconds: float | None, text: str) -> None:
    assert words.lasting(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "-"), (1, "100 %"), (0.99999, "99.9 %"), (0.5, "50 %"), (0, "0 %"), (0.123, "12.3 %")]
)
def test_what_is_not_all_is_not_called_all(share: float | None, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("count", "seconds", "text"),
    [(0, 300, "0/h"), (300, 300, "1.0/s"), (30_000, 60, "500/s"), (10, 300, "2.0/min"), (1, 7_200, "0.5/h")],
)
def test_a_pace_is_written_in_the_unit_in_which_it_is_more_than_a_fraction(
    count: int, seconds: float, text: str
) -> None:
    assert words.paced(count, seconds) == text


@pytest.mark.parametrize(("most", "top"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (37, 50), (51, 100), (200, 200)])
def test_a_picture_ends_at_a_round_number(most: float, top: float) -> None:
    assert ceiling(most) == pytest.approx(top)


def test_a_line_is_lifted_where_nothing_was_measured() -> None:
    assert path_of([0.0, 10.0, None, 5.0], 10.0) == "M0.0 120.0h0L200.0 0.0M600.0 60.0h0"


def test_a_step_without_a_point_is_a_gap() -> None:
    series = make_series(6)
    thin = replace(series, points=[series.points[0], series.points[4]])
    assert [point and point.accepted for point in whole(thin)] == [100, None, None, None, 104, None]


def test_a_step_that_has_just_begun_is_not_drawn_as_a_fall() -> None:
    throughput, *_ = charts(make_series(4), AT, ALL)
    assert throughput.lines[0].path.count("L") == 2
    over, *_ = charts(make_series(4), AT + STEP, ALL)
    assert over.lines[0].path.count("L") == 3


def test_a_picture_tells_its_numbers_in_words() -> None:
    latency = charts(make_series(), AT, ALL)[2]
    assert latency.label.startswith("Delivery latency, seconds: p50 now 12 ms, lowest 12 ms, highest 12 ms; p95 now")
    assert (latency.top, latency.half) == ("500 ms", "250 ms")


def test_a_picture_without_a_point_says_so() -> None:
    empty = replace(make_series(), points=[])
    assert all(chart.is_empty for chart in charts(empty, AT, ALL))
    assert "not measured" in charts(empty, AT, ALL)[0].label


def test_a_rate_of_which_only_the_first_step_has_begun_says_so() -> None:
    series = make_series()
    young = replace(series, points=series.points[-1:])
    said = {chart.plan.name: chart.nothing for chart in charts(young, AT, ALL) if chart.is_empty}
    assert said == dict.fromkeys(("throughput", "failures"), "The first step of this picture is not over yet.")
    assert charts(replace(series, points=[]), AT, ALL)[0].nothing == "Nothing was measured in this time."


def test_figures_are_the_values_and_their_text() -> None:
    found = figures(make_series(), make_now(), ALL)
    assert (found["accepted"].value, found["accepted"].text) == (3_000, "3,000")
    assert found["success_rate"].text == "96.6 %"
    assert found["retry_rate"].text == "2.6 %"
    assert (found["latency_p95"].text, found["lag_p99"].text) == ("84 ms", "200 ms")
    assert (found["due_hour"].value, found["due_day"].text[-1]) == (174, "+")
    assert (found["letters"].value, found["letters_growth"].text) == (69, "+29")


def test_nothing_measured_is_a_dash_and_no_zero() -> None:
    nothing = Percentiles()
    found = figures(make_series(delivered=0, failed=0, latency=nothing), make_now(consumers=[]), ALL)
    assert [found[name].text for name in ("success_rate", "retry_rate", "latency_p50", "oldest_waiting")] == ["-"] * 4


def test_all_is_well_where_nothing_is_wrong() -> None:
    series = replace(make_series(), first_letters=None)
    assert notices(series, make_now(), Scope(), ALL) == []


@pytest.mark.parametrize(
    ("wrong", "text", "url"),
    [
        ({"depths": None}, "Redis is away", "/readyz"),
        ({"parts": [Part("beat", 90.0)]}, "Beat has got nothing done for 90 s.", "/readyz"),
        ({"parts": [Part("delivery", None)]}, "Delivery has got nothing done yet.", "/readyz"),
        ({"parts": [Part("reports", 90.0)]}, "Reports has got nothing done for 90 s.", "/readyz"),
        ({"overdue_seconds": 75.0}, "Messages for later are 75 s late.", "due=overdue"),
        ({"consumers": [make_consumer(state="disabled")]}, "A consumer is disabled.", "delivery=disabled"),
        ({"consumers": [make_consumer(n, state="open") for n in (1, 2)]}, "2 consumers are held", "delivery=breaker"),
        ({"consumers": [make_consumer(state="paused")]}, "A consumer is paused.", "delivery=paused"),
        ({"paused_channels": ["orders"]}, "Paused: orders.", "/channel/?delivery=paused"),
        ({"open_alerts": 1}, "An alert is open.", "/alert/?state=open"),
        ({"open_alerts": 7}, "7 alerts are open.", "/alert/?state=open"),
    ],
)
def test_what_is_wrong_is_said_and_leads_to_the_list_behind_it(wrong: dict[str, object], text: str, url: str) -> None:
    [notice] = notices(replace(make_series(), first_letters=None), make_now(**wrong), Scope(), ALL)
    assert notice.text.startswith(text)
    assert url in notice.url


@pytest.mark.parametrize(
    ("scope", "urls"),
    [
        (Scope(7), ["/consumer/?delivery=disabled&channel__id__exact=7", "/channel/7/change/", "channel__id__exact=7"]),
        (Scope(7, 9), ["/consumer/9/change/", "/channel/7/change/", "/deadletter/?consumer__id__exact=9"]),
        (Scope(), ["/consumer/?delivery=disabled", "/channel/?delivery=paused", "/deadletter/overview/"]),
    ],
)
def test_what_is_wrong_in_a_scope_leads_to_what_was_counted_there(scope: Scope, urls: list[str]) -> None:
    now = make_now(consumers=[make_consumer(state="disabled")], paused_channels=["orders"])
    found = notices(make_series(), now, scope, ALL)
    assert [notice.url.endswith(url) for notice, url in zip(found, urls, strict=True)] == [True] * 3
    [letters] = [tile for tile in tiles(figures(make_series(), now, ALL), scope, ALL) if tile.name == "letters"]
    assert letters.notes[0].url == found[2].url


def test_a_worker_that_need_not_run_is_not_missed() -> None:
    now = make_now(parts=[Part("reports", None)])
    assert notices(replace(make_series(), first_letters=None), now, Scope(), ALL) == []
    assert [(row.text, row.tone) for row in sections.parts(now)] == [("does not run", "")]


def test_an_event_is_for_those_who_may_read_of_its_kind() -> None:
    events = [make_event("one", kind="letter"), make_event("two", kind="admin"), make_event("three", kind="new")]
    assert [row.text for row in sections.ticker(events, frozenset({"letter"}))] == ["one"]


def test_the_worst_is_said_first() -> None:
    now = make_now(depths=None, paused_channels=["orders"])
    assert [notice.tone for notice in notices(make_series(delivered=10), now, Scope(), ALL)] == [
        "danger",
        "warning",
        "warning",
        "warning",
    ]


def test_numbers_lead_to_lists_of_the_same_scope() -> None:
    found = {tile.name: tile for tile in tiles(figures(make_series(), make_now(), ALL), Scope(7, 9), ALL)}
    assert found["queued"].url.endswith("/deliveryjob/?status__exact=1001&consumer__id__exact=9")
    assert found["letters"].url.endswith("/deadletter/?consumer__id__exact=9")
    assert found["due_hour"].url.endswith("/scheduledmessage/?due=hour&channel__id__exact=7")
    assert found["accepted"].url.endswith("/message/?channel__id__exact=7")


def test_a_consumers_numbers_lead_to_its_own_lists() -> None:
    [row] = sections.consumers(make_now(), ALL)
    assert row.queued.url.endswith("/deliveryjob/?consumer__id__exact=1&status__exact=1001")
    assert row.letters is not None
    assert row.letters.url.endswith("/deadletter/?consumer__id__exact=1")
    [idle] = sections.consumers(make_now(consumers=[make_consumer(queued=0, letters=0)]), ALL)
    assert idle.queued.url == ""


def test_the_worst_fifty_consumers_are_listed_and_the_others_counted() -> None:
    now = make_now(consumers=[make_consumer(number) for number in range(60)], consumers_left_out=7)
    assert (len(sections.consumers(now, ALL)), sections.left_out(now)) == (50, 17)
    assert sections.left_out(make_now()) == 0


def test_who_may_see_the_dashboard_alone_gets_no_name_no_letter_and_no_link() -> None:
    now = make_now(
        overdue_seconds=80.0,
        paused_channels=["secret-channel"],
        consumers=[make_consumer(state="disabled")],
        open_alerts=3,
    )
    told = shown.first_look(make_series(), now, [make_event("secret-event")], Asked(), BLIND)
    assert told["rows"] == told["causes"] == told["events"] == told["next_hour"] == told["notices"] == []
    assert not {"letters", "letters_growth", "scheduled", "due_hour"} & told["numbers"]["figures"].keys()
    assert "letters" not in told["numbers"]["points"]
    assert "letters" not in {chart.plan.name for chart in told["charts"]}
    assert {url for tile in told["tiles"] for url in (tile.url, *(note.url for note in tile.notes))} <= {
        "",
        "#chart-latency",
        "#chart-lag",
    }
    assert "secret" not in repr(told)


def test_what_a_refresh_sends_is_json() -> None:
    told = shown.first_look(make_series(), make_now(), [], Asked(), ALL)
    numbers = json.loads(json.dumps(told["numbers"]))
    assert len(numbers["points"]["at"]) == len(numbers["points"]["lag_p50"]) == 30
    assert [plan["name"] for plan in numbers["plans"]] == [plan.name for plan in PLANS]


def test_every_range_that_is_recorded_is_offered() -> None:
    assert RANGES.keys() == RANGE_NAMES.keys() == RECORDED.keys()


def test_causes_come_with_the_most_first() -> None:
    rows = sections.causes(make_now().causes, Scope(), ALL)
    assert [(row.name, row.size) for row in rows] == [("http_5xx", 100), ("timeout", 15)]


def test_small_rates_keep_their_digits() -> None:
    assert [written(value, "per second") for value in (0.0333333, 2.5, 3, 12.7, None)] == [
        "0.0333",
        "2.5",
        "3",
        "13",
        "-",
    ]
