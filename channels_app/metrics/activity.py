"""What processes count as they work: rings and sweeps. Names in Redis are words joined by a bar."""

from django.conf import settings

from broker_project.lib.tally import ALL, tally

_PREFIX = "channels_app."
_SWEEPS = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}


def channel_key(public_id: str) -> str:
    """The hash of a channel: it goes when the channel has long been silent."""
    return f"metrics:channel:{public_id}"


def count_rings(result: str, *tasks: str) -> None:
    amounts: dict[tuple[str, str], float] = {}
    for task in tasks:
        place = ALL, f"ring|{short(task)}|{result}"
        amounts[place] = amounts.get(place, 0) + 1
    tally().add(amounts)


def count_run(task: str, state: str) -> None:
    """A sweep that came to its end; other tasks are not counted."""
    if task in _SWEEPS and state == "SUCCESS":
        tally().add({(ALL, f"sweep_runs|{short(task)}"): 1})


def count_moved(sweep: str, rows: int) -> None:
    if rows:
        tally().add({(ALL, f"sweep_moved|{sweep}"): rows})


def short(task: str) -> str:
    return task.removeprefix(_PREFIX)
