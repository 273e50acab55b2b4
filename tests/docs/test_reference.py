"""The generated pages are what the code says now, and the drawings have the states that there are."""

import pytest

from broker_project.guide import drawing
from broker_project.guide.knobs import read_knobs
from broker_project.guide.pages import DOCS, generated
from broker_project.guide.states import CONSUMER, DEAD_LETTER, JOB, MACHINES, MESSAGE, SCHEDULED, START, Machine
from channels_app.api.shapes import ConsumerStateOut
from channels_app.models.delivery_job import JobStatus
from channels_app.models.message import MessageStatus
from channels_app.reasons import Reason
from dlq_app.models.dead_letter import Resolution
from scheduling_app.models.scheduled_message import ScheduledStatus

PAGES = dict(generated())


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_file_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name], "run ./broker docs, and commit what it writes"


def test_the_reference_has_every_setting_and_every_reason() -> None:
    assert all(f"| `{name}` |" in PAGES["reference/settings.md"] for name in read_knobs())
    assert all(f"| `{reason}` |" in PAGES["reference/reasons.md"] for reason in Reason)


def test_each_setting_has_a_default_and_a_sentence() -> None:
    rows = [line.split(" | ") for line in PAGES["reference/settings.md"].splitlines() if line.startswith("| `")]
    assert len(rows) == len(read_knobs())
    assert [row for row in rows if len(row) < 3 or not all(cell.strip("| ") for cell in row)] == []


@pytest.mark.parametrize(
    ("machine", "states"),
    [
        (MESSAGE, set(MessageStatus.names)),
        (JOB, set(JobStatus.names)),
        (SCHEDULED, set(ScheduledStatus.names)),
        (DEAD_LETTER, {"open", *Resolution.values}),
    ],
    ids=["message", "job", "scheduled", "dead letter"],
)
def test_a_drawing_has_the_states_of_the_model(machine: Machine, states: set[str]) -> None:
    assert machine.places.keys() - {START} == states


def test_the_drawing_of_a_consumer_has_the_states_that_the_api_names() -> None:
    told = str(ConsumerStateOut.__doc__).split(".")[0]
    assert all(state in told for state in CONSUMER.places)


@pytest.mark.parametrize("name", MACHINES)
def test_no_two_states_stand_in_one_place_and_every_move_is_drawn(name: str) -> None:
    machine = MACHINES[name]
    assert len(set(machine.places.values())) == len(machine.places)
    assert drawing.svg(machine).count('class="move"') == len(machine.moves)
