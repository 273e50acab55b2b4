"""No secret in a log line."""

import logging
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


def test_lines_of_libraries_are_blanked_too(settings: Any) -> None:
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=settings.LOGGING["formatters"]["line"]["processors"],
        foreign_pre_chain=settings.LOGGING["formatters"]["line"]["foreign_pre_chain"],
    )
    record = logging.LogRecord("library", logging.INFO, "", 0, "sent Bearer %s", ("hush-hush",), None)

    line = formatter.format(record)

    assert "sent Bearer" in line
    assert "hush-hush" not in line
