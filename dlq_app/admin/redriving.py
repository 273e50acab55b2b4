"""All letters that match are queued again: an operation, which goes in batches, can be stopped, and is watched."""

from typing import Any

from channels_app.models import Channel, Consumer
from dlq_app import redrive
from dlq_app.admin.asking import cause_told
from dlq_app.filters import LetterFilter

_NAMED = {"channel_id": ("channel", Channel), "consumer_id": ("consumer", Consumer)}


def how_many(meant: LetterFilter) -> str:
    """From counters where they know it; else counted, up to a limit."""
    found = redrive.count(meant)
    return f"{found.number:,}{'' if found.is_exact else ' or more'}"


def asked_for(meant: LetterFilter) -> dict[str, Any]:
    """The filter for readers: with names in place of rows' ids, and what a cause says in place of its number."""
    return dict(_told(name, value) for name, value in meant.as_parameters().items())


def _told(name: str, value: Any) -> tuple[str, Any]:
    if name == "fingerprint":
        return "cause", cause_told(str(value))
    if name not in _NAMED:
        return name.replace("_", " "), value
    word, model = _NAMED[name]
    # A row that is nobody's is said as it was asked for.
    return word, model.objects.filter(pk=value).values_list("public_id", flat=True).first() or value
