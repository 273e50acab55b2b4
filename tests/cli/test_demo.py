"""The demo's cast, its errands, what it says, and the words that it is called with."""

import re
from random import Random

import pytest

from broker_client import Conflict, Forbidden, Limited, NotFound, Unreachable
from broker_client.errors import BrokerError
from broker_project.cli.__main__ import parser
from broker_project.demo.cast import CHANNELS, NOBODY, POLLER, PRODUCERS, SCHEDULES, WORKER, push_consumers
from broker_project.demo.errands import ERRANDS, Runner, due
from broker_project.demo.payloads import payload
from broker_project.demo.screen import Places, ending, opening
from broker_project.demo.tally import Tally
from broker_project.demo.traffic import SHARES

RECEIVER = "http://127.0.0.1:4000"


def test_all_of_the_cast_is_marked_by_its_id() -> None:
    names = [*PRODUCERS, *(channel.name for channel in CHANNELS)]
    assert all(name.startswith("demo-") for name in names)
    assert len(set(names)) == len(names)


def test_every_channel_has_a_producer_traffic_and_payloads() -> None:
    assert {channel.name for channel in CHANNELS} == set(SHARES)
    assert {channel.producer for channel in CHANNELS} == set(PRODUCERS)
    for name in SHARES:
        assert payload(name, Random(1)) == payload(name, Random(1))


def test_there_is_a_consumer_of_every_manner_and_two_that_ask() -> None:
    manners = {one.manner for channel in CHANNELS for one in channel.consumers}
    assert manners == {"healthy", "flaky", "slow", "choosy", "picky", "retiring", "nobody", ""}
    asking = [(channel.name, one.name) for channel in CHANNELS for one in channel.consumers if not one.manner]
    assert asking == [WORKER, POLLER]
    assert not set(push_consumers()) & set(asking)


def test_a_consumer_is_posted_to_by_its_manner_and_the_dead_one_where_nobody_listens() -> None:
    urls = {
        one.name: one.document(channel.name, RECEIVER).get("callback_url")
        for channel in CHANNELS
        for one in channel.consumers
    }
    assert urls["billing"] == f"{RECEIVER}/healthy/demo-orders/billing"
    assert urls["old-bank"] == f"{NOBODY}/nobody/demo-invoices/old-bank"
    assert urls["archive"] is None


def test_schedules_are_of_the_cast() -> None:
    for schedule in SCHEDULES:
        assert schedule.channel in {channel.name for channel in CHANNELS}
        assert schedule.producer in PRODUCERS


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (0, []),
        (7, []),
        (8, ["cancel"]),
        (12, ["send_now"]),
        (28, ["cancel"]),
        (55, ["pause"]),
        (75, ["resume"]),
        (85, ["redrive"]),
    ],
)
def test_errands_have_their_seconds(number: int, names: list[str]) -> None:
    assert due(number) == names


def test_every_errand_can_be_done_and_every_pause_ends() -> None:
    assert all(callable(getattr(Runner, errand.name)) for errand in ERRANDS)
    paused = [number for number in range(1_000) if "pause" in due(number)]
    assert all("resume" in due(number + 20) for number in paused)


def test_the_line_tells_what_happened() -> None:
    tally = Tally(sent=1_204, delivered=2_000, leased=200, polled=100, failed=130, nacked=1, letters=58, waiting=214)
    line = "01:12  sent 1,204 · delivered 2,300 · failed on purpose 131 · dead letters 58 · for later 214"
    assert tally.line(72.9) == line


@pytest.mark.parametrize(
    ("error", "trouble", "ends"),
    [
        (Unreachable(0), "waiting for the broker", False),
        (BrokerError(503), "waiting for the broker", False),
        (Limited(429), "the broker asks for a pause", False),
        (Conflict(409), "", False),
        (Forbidden(403), "", True),
        (NotFound(404), "", True),
    ],
)
def test_what_passes_is_waited_for_and_what_was_taken_away_ends_it(
    error: BrokerError, trouble: str, ends: bool
) -> None:
    tally = Tally()
    tally.heard(error)
    assert (tally.trouble, bool(tally.verdict)) == (trouble, ends)
    assert tally.line(0).endswith(trouble)


def test_it_says_where_to_look_and_how_to_leave() -> None:
    said = opening(Places("http://127.0.0.1:8000", "http://127.0.0.1:8001", "/srv/data"))
    urls = re.findall(r"http://\S+", said)
    assert "http://127.0.0.1:8000/admin/watch/" in urls
    assert "http://127.0.0.1:8000/admin/watch/explorer/" in urls
    assert "http://127.0.0.1:8001" in urls
    assert "/srv/data/secrets/flower_password" in said
    assert "./broker demo --remove" in ending("")
    assert ending("Somebody was faster.").startswith("Somebody was faster.")


def test_the_command_has_defaults() -> None:
    options = parser().parse_args(["demo"])
    assert (options.rate, options.minutes, options.seed, options.remove) == (20.0, None, 1, False)


@pytest.mark.parametrize(
    "words", [["--rate", "0"], ["--rate", "1001"], ["--rate", "nan"], ["--minutes", "0"], ["--minutes", "inf"]]
)
def test_what_makes_no_sense_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parser().parse_args(["demo", *words])
    assert refused.value.code == 2
    assert "must be" in capsys.readouterr().err
