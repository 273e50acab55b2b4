"""What has happened so far, and the one line that tells it."""

from dataclasses import dataclass, field

from broker_client import BrokerError


@dataclass
class Tally:
    """Counted by the demo itself, but for the letters and what waits, which the broker knows."""

    sent: int = 0
    delivered: int = 0
    failed: int = 0
    # Of the worker, whose thread alone writes these, and of the one that polls.
    leased: int = 0
    nacked: int = 0
    polled: int = 0
    refused: int = 0
    letters: int = 0
    waiting: int = 0
    # Why the demo has to stop, if it has to.
    verdict: str = ""
    # What holds it up at the moment.
    trouble: str = ""
    # Messages for later that were not yet touched, newest last.
    reminders: list[str] = field(default_factory=list)

    def line(self, elapsed_seconds: float) -> str:
        minutes, seconds = divmod(int(elapsed_seconds), 60)
        parts = {
            "sent": self.sent,
            "delivered": self.delivered + self.leased + self.polled,
            "failed on purpose": self.failed + self.nacked,
            "dead letters": self.letters,
            "for later": self.waiting,
        }
        told = " · ".join(f"{name} {count:,}" for name, count in parts.items())
        return f"{minutes:02}:{seconds:02}  {told}{self._held_up()}"

    def _held_up(self) -> str:
        return f" · {self.trouble}" if self.trouble else ""

    def heard(self, error: BrokerError) -> None:
        """What passes is waited for; channels and tokens that are not ours any more end the demo."""
        if error.is_passing:
            self.trouble = "the broker asks for a pause" if error.status == 429 else "waiting for the broker"
        elif error.status in (401, 403, 404, 410):
            self.verdict = "Somebody else has changed or removed the demo's channels."
