"""Long acts in tests: asked for, stepped through, run to their end."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from channels_app.models import Operation
from channels_app.operations import kinds, runner
from channels_app.operations.kinds import Kind


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


def begun(answer: Any) -> Operation:
    assert answer.status_code == 202, answer.content
    operation = Operation.objects.get(public_id=answer["Location"].removeprefix("/operations/"))
    assert answer.json()["id"] == operation.public_id
    return operation


def ran(operation: Operation) -> Operation:
    """To its end, or to its rest."""
    runner.run(operation.pk, seconds=20)
    operation.refresh_from_db()
    return operation


def cut_off(operation: Operation) -> None:
    """A step whose worker is killed between the rows and the commit."""
    with transaction.atomic():
        runner.run_step(operation.pk)
        transaction.set_rollback(True)


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def with_clock(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    """For this test, operations are of this kind."""
    monkeypatch.setitem(kinds._kinds, kind.name, kind)
