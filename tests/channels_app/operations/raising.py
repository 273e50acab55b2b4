"""An operation for tests: it raises the priority of a channel's messages by one, two at a time."""

from dataclasses import replace

from django.db import OperationalError
from django.db.models import F

from channels_app.models import Channel, Message, Operation
from channels_app.operations import acts, kinds
from channels_app.operations.kinds import Step


class Raise:
    """Fails at the messages named in `trouble`, with the error given there."""

    name = "raise"

    def __init__(self) -> None:
        self.trouble: dict[str, Exception] = {}
        self.steps = 0

    def count(self, operation: Operation) -> int:
        return Message.objects.filter(channel=operation.channel).count()

    def step(self, operation: Operation) -> Step:
        self.steps += 1
        rows = list(Message.objects.filter(channel=operation.channel, pk__gt=operation.cursor).order_by("pk")[:2])
        Message.objects.filter(pk__in=[row.pk for row in rows]).update(priority=F("priority") + 1)
        for row in rows:
            if row.message_id in self.trouble:
                raise self.trouble[row.message_id]
        cursor = rows[-1].pk if rows else operation.cursor
        return Step(cursor=cursor, done=len(rows), is_last=len(rows) < 2)


class Uncountable(Raise):
    name = "uncountable"

    def count(self, operation: Operation) -> int:
        raise OperationalError("it took too long")


class Resting(Raise):
    """After each step, for half a minute."""

    name = "resting"

    def step(self, operation: Operation) -> Step:
        return replace(super().step(operation), rest_seconds=30.0)


def registered(kind: Raise) -> Raise:
    kinds.register(kind)
    return kind


def start(channel: Channel, kind: str = "raise") -> Operation:
    return acts.start(kind=kind, channel=channel, parameters={"by": 1}, until=None, by="me")


def priorities() -> list[int]:
    return list(Message.objects.order_by("pk").values_list("priority", flat=True))
