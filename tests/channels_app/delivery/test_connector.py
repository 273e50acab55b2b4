"""Connections for deliveries: which are opened, and what a name that hangs does to the others."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import aiohttp
import pytest
import uvloop

from broker_project.lib.egress import EgressDenied, allowed_from
from channels_app.delivery import lookups
from channels_app.delivery.webhook import open_session
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import wait_until


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def port_of(receiver: Receiver) -> int:
    return int(receiver.url.rpartition(":")[2])


def pointing_to(*addresses: str) -> lookups.LookUp:
    """A name server that says this of every name."""

    def look_up(_host: str, port: int, **_options: Any) -> list[Any]:
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    return look_up


def posted(urls: Sequence[str], allow: Sequence[str] = (), look_up: lookups.LookUp = socket.getaddrinfo) -> list[Any]:
    """The status or the error of each, one after the other in one session; redirects are followed to see where."""

    async def post_all() -> list[Any]:
        async with open_session(allowed_from(allow), look_up) as session:
            return [await _outcome(session, url) for url in urls]

    return uvloop.run(post_all())


async def _outcome(session: aiohttp.ClientSession, url: str) -> Any:
    try:
        async with session.post(url, data=b"x", timeout=aiohttp.ClientTimeout(total=20)) as response:
            return response.status
    except aiohttp.ClientError as error:
        return error


def is_denied(outcome: Any) -> bool:
    return isinstance(outcome, aiohttp.ClientConnectorError) and isinstance(outcome.__cause__, EgressDenied)


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "10.0.0.1", "[::1]", "127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "[fe80::1]", "localhost"],
)
def test_an_address_of_our_own_network_is_never_connected_to(receiver: Receiver, host: str) -> None:
    [outcome] = posted([f"http://{host}:{port_of(receiver)}/"])

    assert is_denied(outcome)
    assert "EGRESS_ALLOW" in str(outcome)
    assert receiver.deliveries == []


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0", "017700000001"])
def test_an_address_that_is_not_written_as_one_is_not_connected_to_even_if_allowed(
    receiver: Receiver, host: str
) -> None:
    [outcome] = posted([f"http://{host}:{port_of(receiver)}/"], allow=["0.0.0.0/0"])

    assert isinstance(outcome, aiohttp.ClientError)
    assert receiver.deliveries == []


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["169.254.169.254"], ["10.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "::1", "10.0.0.1"]],
)
def test_a_name_that_leads_there_is_never_connected_to(receiver: Receiver, addresses: list[str]) -> None:
    [outcome] = posted([f"http://name.test:{port_of(receiver)}/"], look_up=pointing_to(*addresses))

    assert is_denied(outcome)
    assert receiver.deliveries == []


def test_a_redirect_that_leads_there_is_never_connected_to(receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 307
    receiver.headers = {"Location": f"{receiver.url}/inside"}
    start = f"http://start.test:{port_of(receiver)}/start"

    [outcome] = posted([start], allow=["start.test"], look_up=pointing_to("127.0.0.1"))

    assert is_denied(outcome)
    assert [delivery.path for delivery in receiver.deliveries] == ["/start"]


def test_what_an_allowed_host_leads_to_is_open_to_that_host_only(receiver: Receiver) -> None:
    allowed, below, other, literal = (
        f"http://{host}:{port_of(receiver)}/" for host in ("ours.test", "a.svc.test", "other.test", "127.0.0.1")
    )

    outcomes = posted(
        [other, allowed, other, below, literal, allowed],
        allow=["ours.test", "*.svc.test"],
        look_up=pointing_to("127.0.0.1"),
    )

    assert [outcome if isinstance(outcome, int) else is_denied(outcome) for outcome in outcomes] == [
        *(True, 200, True),
        *(200, True, 200),
    ]
    assert len(receiver.deliveries) == 3


def test_an_allowed_range_is_connected_to_by_any_name(receiver: Receiver) -> None:
    urls = [f"http://name.test:{port_of(receiver)}/", f"{receiver.url}/"]

    assert posted(urls, allow=["127.0.0.0/8"], look_up=pointing_to("127.0.0.1")) == [200, 200]


class Hanging:
    """A name server that does not answer for names that begin with hang; it says 127.0.0.1 of the others."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, **options: Any) -> list[Any]:
        self.asked.append(host)
        if host.startswith("hang"):
            self.gate.wait(60)
        return pointing_to("127.0.0.1")(host, port, **options)


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.gate.set()
    wait_until(lambda: not any(thread.name == "look-up" for thread in threading.enumerate()), 20)


def with_hanging(hanging: Hanging, names: Sequence[str], then: Callable[[aiohttp.ClientSession], Any]) -> Any:
    """What comes of `then` while posts to these names wait for their look-ups."""

    async def run() -> Any:
        async with open_session(allowed_from(["127.0.0.0/8"]), hanging) as session:
            waiting = [asyncio.create_task(_outcome(session, f"http://{name}:9/")) for name in names]
            while len(hanging.asked) < len(set(names)):
                await asyncio.sleep(0.01)
            outcome = await then(session)
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            return outcome

    return uvloop.run(run())


def test_names_that_hang_do_not_hold_up_another(receiver: Receiver, hanging: Hanging) -> None:
    fine = f"http://fine.test:{port_of(receiver)}/"

    outcome = with_hanging(
        hanging, [f"hang-{number}.test" for number in range(60)], lambda session: _outcome(session, fine)
    )

    assert outcome == 200


def test_a_name_that_hangs_is_asked_for_once_at_a_time(hanging: Hanging) -> None:
    async def nothing(_session: aiohttp.ClientSession) -> None:
        """Only the waiting counts."""

    with_hanging(hanging, ["hang.test"] * 20, nothing)

    assert hanging.asked == ["hang.test"]


def test_nobody_waits_for_a_name_beyond_the_limit(hanging: Hanging, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "LOOK_UP_SECONDS", 0.05)

    outcomes = posted(["http://hang.test/", "http://hang.test/"], look_up=hanging)

    assert [type(outcome) for outcome in outcomes] == [aiohttp.ClientConnectorDNSError] * 2
    assert "took too long" in str(outcomes[0])
    assert hanging.asked == ["hang.test"]


def test_very_many_names_that_hang_are_refused_rather_than_piled_up(
    hanging: Hanging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MOST_LOOK_UPS", 3)

    outcome = with_hanging(
        hanging,
        [f"hang-{number}.test" for number in range(3)],
        lambda session: _outcome(session, "http://one-more.test/"),
    )

    assert isinstance(outcome, aiohttp.ClientConnectorDNSError)


def test_a_name_that_nobody_knows_or_that_is_none_fails_as_a_look_up() -> None:
    def unknown(host: str, *_args: Any, **_options: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown") if host == "unknown.test" else UnicodeError("too long")

    outcomes = posted(["http://unknown.test/", "http://odd.test/"], look_up=unknown)

    assert [type(outcome) for outcome in outcomes] == [aiohttp.ClientConnectorDNSError] * 2
