"""What the workers count as they dispatch: how late each message was, and what went wrong."""

from collections.abc import Sequence
from typing import Any

from celery.signals import task_postrun

from broker_project.lib.tally import ALL, tally
from channels_app.metrics.histograms import Histogram

LAG = Histogram(
    "schedule_lag",
    (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 86400.0),
)
# The histogram wants a word, and there is but one.
DISPATCHED = "dispatched"
ERRORS = "scheduling_errors"
_PREFIX = "scheduling_app."
_TROUBLE = {"RETRY": "retried", "FAILURE": "failed"}


def lag_key(channel_id: int) -> str:
    """By number: whoever dispatches does not know names."""
    return f"metrics:schedule_lag:{channel_id}"


def count_lags(channel_id: int, lags: Sequence[float]) -> None:
    """How late each of these was dispatched, in seconds."""
    if lags:
        tally().add({(lag_key(channel_id), field): amount for field, amount in LAG.observe(DISPATCHED, lags)})


@task_postrun.connect
def count_trouble(task: Any, state: str | None, **_kwargs: Any) -> None:
    """A run of our tasks that did not come to its end. Nothing is lost by it: the rows stay due."""
    outcome = _TROUBLE.get(state or "")
    if outcome and task.name.startswith(_PREFIX):
        tally().add({(ALL, f"{ERRORS}|{task.name.removeprefix(_PREFIX)}|{outcome}"): 1})
