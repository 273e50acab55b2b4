"""What staff and clients do now and then besides sending: change their minds, redrive, replay, pause."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from broker_client import AsyncBroker, BrokerError
from broker_project.demo.cast import ORDERS, PAYMENTS, REMINDERS, SIGNUPS
from broker_project.demo.desk import Desk
from broker_project.demo.tally import Tally
from broker_project.demo.under_way import UnderWay


@dataclass(frozen=True)
class Errand:
    """Done in the second `first`, and every so many seconds from then on."""

    name: str
    first: int
    every: int

    def is_due(self, number: int) -> bool:
        return number >= self.first and (number - self.first) % self.every == 0


ERRANDS = (
    Errand("cancel", 8, 20),
    Errand("put_off", 10, 20),
    Errand("send_now", 12, 10),
    Errand("redrive", 25, 60),
    Errand("replay", 40, 240),
    Errand("cancel_many", 50, 300),
    Errand("pause", 55, 180),
    Errand("resume", 75, 180),
)


def due(number: int) -> list[str]:
    """The errands of this second, by name."""
    return [errand.name for errand in ERRANDS if errand.is_due(number)]


class Runner:
    """One method for each errand; nobody waits for them."""

    def __init__(self, desk: Desk, assistant: AsyncBroker, tally: Tally, *, run: str) -> None:
        self._desk, self._assistant, self._tally, self._run = desk, assistant, tally, run
        self._under_way = UnderWay()

    def begin(self, number: int) -> None:
        for name in due(number):
            self._under_way.start(self._do(name))

    async def finish(self) -> None:
        await self._under_way.finish()

    async def _do(self, name: str) -> None:
        """One that comes too late, or to a broker that is away, is no matter: there will be another."""
        try:
            await getattr(self, name)()
        except BrokerError as error:
            self._tally.heard(error)

    async def cancel(self) -> None:
        if self._tally.reminders:
            await self._assistant.cancel(REMINDERS, self._tally.reminders.pop())

    async def put_off(self) -> None:
        if self._tally.reminders:
            later = timedelta(hours=2)
            await self._assistant.reschedule(REMINDERS, self._tally.reminders.pop(), delay=later)

    async def send_now(self) -> None:
        if self._tally.reminders:
            await self._assistant.dispatch_now(REMINDERS, self._tally.reminders.pop())

    async def cancel_many(self) -> None:
        """All of this run that are due in more than twelve hours."""
        from_then = (datetime.now(UTC) + timedelta(hours=12)).isoformat()
        wanted = {"filter": {"idPrefix": f"reminders-{self._run}", "dueFrom": from_then}}
        await self._desk.ask("POST", f"/channel/{REMINDERS}/scheduled-messages/cancel", wanted)

    async def redrive(self) -> None:
        await self._redrive(channel=PAYMENTS, consumer="fraud-check", ratePerSecond=5)
        await self._redrive(channel=ORDERS, consumer="warehouse", ratePerSecond=20)

    async def _redrive(self, **wanted: Any) -> None:
        await self._desk.ask("POST", "/dead-letters/redrive", wanted)

    async def replay(self) -> None:
        now = datetime.now(UTC)
        stretch = {"from": (now - timedelta(seconds=10)).isoformat(), "to": now.isoformat()}
        await self._desk.ask("POST", f"/channel/{SIGNUPS}/consumer/welcome-mail/replay", stretch)

    async def pause(self) -> None:
        await self._desk.ask("POST", f"/channel/{REMINDERS}/consumer/mailer/pause")

    async def resume(self) -> None:
        await self._desk.ask("POST", f"/channel/{REMINDERS}/consumer/mailer/resume")
