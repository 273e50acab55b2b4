"""No secret in a log line."""

import logging
import sys
from typing import Any

import pytest
import structlog

from broker_project.lib.redaction import redact


@pytest.mark.parametrize(
    "event",
    [
        {"token": "hush-hush"},
        {"headers": {"Authorization": "hush-hush"}},
        {"event": "called with Bearer hush-hush"},
        {"event": "key bk_hush-hush-hush"},
        {"url": "postgresql://user:hush-hush@host/db"},
        {"password": "hush-hush"},
        {"items": [{"api_key": "hush-hush"}]},
    ],
)
def test_a_secret_is_blanked_wherever_it_stands(event: dict[str, Any]) -> None:
    assert "hush-hush" not in str(redact(None, "info", event))


def test_what_is_no_secret_stays() -> None:
    event = {"event": "registry.changed", "id": "orders", "ms": 1.5, "fields": ["name"]}

    assert redact(None, "info", event) == event


def formatted(settings: Any, **record: Any) -> str:
    """A line of a library, drawn as our settings say."""
    line = settings.LOGGING["formatters"]["line"]
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=line["processors"], foreign_pre_chain=line["foreign_pre_chain"]
    )
    return formatter.format(logging.makeLogRecord({"name": "library", "levelname": "INFO", **record}))


def test_lines_of_libraries_are_blanked_too(settings: Any) -> None:
    line = formatted(settings, msg="sent Bearer %s", args=("hush-hush",))

    assert "sent Bearer" in line
    assert "hush-hush" not in line


def test_an_exception_is_blanked_too(settings: Any) -> None:
    try:
        raise ValueError("cannot reach redis://:hush-hush@host/0 with Bearer hush-hush")
    except ValueError:
        line = formatted(settings, msg="failed", exc_info=sys.exc_info())

    assert "cannot reach redis" in line
    assert "hush-hush" not in line
