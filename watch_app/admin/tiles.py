"""The numbers at the top: which stand together, and the list behind each."""

from dataclasses import dataclass, field

from django.urls import reverse

from channels_app.admin.links import address, listed
from channels_app.models import Alert, Channel, Consumer, DeliveryJob, JobStatus, Message
from dlq_app.models import DeadLetter
from scheduling_app.models import ScheduledMessage
from watch_app.admin.figures import Figure, Figures
from watch_app.admin.sight import Sight
from watch_app.values import Scope


@dataclass(frozen=True)
class Note:
    """A smaller number: `before` and `after` are the words around it."""

    name: str
    figure: Figure
    before: str = ""
    after: str = ""
    url: str = ""


@dataclass(frozen=True)
class Tile:
    title: str
    icon: str
    name: str
    figure: Figure
    url: str = ""
    notes: list[Note] = field(default_factory=list)


def tiles(figures: Figures, scope: Scope, sight: Sight) -> list[Tile]:
    links = Links(scope, sight)
    return [
        *_traffic(figures, links),
        *_times(figures),
        _waiting(figures, links),
        *([_later(figures, links)] if sight.scheduled else []),
        *([_letters(figures, links)] if sight.letters else []),
    ]


@dataclass(frozen=True)
class Links:
    """Lists that show what a number counts, for this scope; empty for those that the viewer may not open."""

    scope: Scope
    sight: Sight

    def jobs(self, **filters: object) -> str:
        return listed(DeliveryJob, **filters, **self._whose()) if self.sight.jobs else ""

    def letters(self, **filters: object) -> str:
        return listed(DeadLetter, **filters, **self._whose()) if self.sight.letters else ""

    def growth(self) -> str:
        """All letters have an overview."""
        if self.scope.channel_id or not self.sight.letters:
            return self.letters()
        return reverse("admin:dlq_app_deadletter_overview")

    def alerts(self, **filters: object) -> str:
        return listed(Alert, **filters, **self._whose()) if "alert" in self.sight.events else ""

    def channels(self, **filters: object) -> str:
        """The chosen one is a page."""
        if not self.sight.channels:
            return ""
        chosen = self.scope.channel_id
        return address(Channel(pk=chosen)) if chosen else listed(Channel, **filters)

    def consumers(self, **filters: object) -> str:
        if not self.sight.consumers:
            return ""
        chosen = self.scope.consumer_id
        return address(Consumer(pk=chosen)) if chosen else listed(Consumer, **filters, **self._channel())

    def messages(self) -> str:
        return listed(Message, **self._channel()) if self.sight.messages else ""

    def scheduled(self, **filters: object) -> str:
        return listed(ScheduledMessage, **filters, **self._channel()) if self.sight.scheduled else ""

    def _channel(self) -> dict[str, int]:
        return {"channel__id__exact": self.scope.channel_id} if self.scope.channel_id else {}

    def _whose(self) -> dict[str, int]:
        """A consumer is its channel's: two filters would find the same, and no index."""
        if self.scope.consumer_id:
            return {"consumer__id__exact": self.scope.consumer_id}
        return self._channel()


def _traffic(figures: Figures, links: Links) -> list[Tile]:
    return [
        Tile(
            "Accepted",
            "move_to_inbox",
            "accepted",
            figures["accepted"],
            links.messages(),
            [Note("accepted_rate", figures["accepted_rate"], after="on average")],
        ),
        Tile(
            "Delivered",
            "send",
            "delivered",
            figures["delivered"],
            links.jobs(status__exact=JobStatus.DELIVERED.value),
            [Note("delivered_rate", figures["delivered_rate"], after="on average")],
        ),
        Tile(
            "Tries that succeed",
            "check_circle",
            "success_rate",
            figures["success_rate"],
            links.jobs(turn="waiting"),
            [
                Note("retry_rate", figures["retry_rate"], after="tried again"),
                Note("failed", figures["failed"], after="failed"),
                Note("dead", figures["dead"], after="died", url=links.jobs(status__exact=JobStatus.DEAD.value)),
            ],
        ),
    ]


def _times(figures: Figures) -> list[Tile]:
    return [
        Tile(title, icon, f"{kind}_p95", figures[f"{kind}_p95"], f"#chart-{kind}", _around(figures, kind))
        for kind, title, icon in (("latency", "Latency, p95", "speed"), ("lag", "Scheduler lag, p95", "timer"))
    ]


def _around(figures: Figures, kind: str) -> list[Note]:
    return [Note(f"{kind}_{name}", figures[f"{kind}_{name}"], before=name) for name in ("p50", "p99")]


def _waiting(figures: Figures, links: Links) -> Tile:
    in_flight = links.jobs(status__exact=JobStatus.INFLIGHT.value)
    notes = [
        Note("in_flight", figures["in_flight"], after="in flight", url=in_flight),
        Note("oldest_waiting", figures["oldest_waiting"], before="oldest"),
    ]
    url = links.jobs(status__exact=JobStatus.QUEUED.value)
    return Tile("Queued", "stacks", "queued", figures["queued"], url, notes)


def _later(figures: Figures, links: Links) -> Tile:
    notes = [
        Note("due_day", figures["due_day"], after="in a day", url=links.scheduled(due="day")),
        Note("scheduled", figures["scheduled"], after="in all", url=links.scheduled(status__exact=100)),
        Note("overdue", figures["overdue"], after="overdue", url=links.scheduled(due="overdue")),
    ]
    return Tile(
        "Due within the hour", "schedule_send", "due_hour", figures["due_hour"], links.scheduled(due="hour"), notes
    )


def _letters(figures: Figures, links: Links) -> Tile:
    notes = [Note("letters_growth", figures["letters_growth"], after="in this time", url=links.growth())]
    return Tile("Dead letters", "mark_email_unread", "letters", figures["letters"], links.letters(), notes)
