"""One broker and one receiver for all chaos tests of a test process; each test loads them anew."""

from collections.abc import Callable, Iterator

import pytest

from tests.chaos.broker import Broker, running
from tests.chaos.receiver import Receiver, receiving
from tests.chaos.scale import LONG, SHORT, Scale

FIGURE = "chaos figure"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chaos", action="store_true", help="the long version of tests/chaos")


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    # Unknown where pytest was not started on this folder: then the short version is meant.
    return LONG if request.config.getoption("--chaos", default=False) else SHORT


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    with running() as made:
        made.put("/producer/shop", token="sell")
        yield made


@pytest.fixture(scope="package")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    with receiving(tmp_path_factory.mktemp("receiver")) as made:
        yield made


@pytest.fixture(autouse=True)
def falls(broker: Broker, record_property: Callable[[str, object], None]) -> Iterator[None]:
    """A part that falls over by itself is started again, as by `./broker up`; but that must not go unseen."""
    before = len(broker.parts.fallen)
    yield
    for name in broker.parts.fallen[before:]:
        record_property(FIGURE, f"{name} fell over and was started again")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # The report of a teardown carries whatever was noted for its test, and stands under no word of its own.
    for report in terminalreporter.stats.get("", []):
        for name, value in report.user_properties if report.when == "teardown" else []:
            if name == FIGURE:
                terminalreporter.write_line(f"{report.nodeid}: {value}")
