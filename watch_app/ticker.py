"""What happened lately, newest first: the ends of a few tables, found by their indexes, and the registry's states.

A kind is a word for its colour, and for who may see it: "letter", "consumer", "alert", "operation",
"report", "admin".
"""

from collections.abc import Callable, Container, Iterator
from typing import Any

from django.contrib.admin.models import LogEntry
from django.db import connection

from channels_app.admin.links import address, listed
from channels_app.models import Alert, Consumer, Operation
from channels_app.models.operation import ENDED, OperationStatus
from dlq_app.admin.asking import CONSUMER, REASON
from dlq_app.models import DeadLetter
from reports_app.models import Report, ReportStatus
from watch_app.values import Event, Scope

# So many letters are looked at; those of one consumer, reason and minute are one event.
MOST_LETTERS = 500
# The admin's log has no index by what was acted on.
MOST_ACTS = 200

Source = Callable[[Scope, int], Iterator[Event]]

# By one of three indexes. BETWEEN, in the order of the index: for an equal sign the planner may walk along the letters
# of all channels.
_NEWEST = {
    "all": "ORDER BY id DESC",
    "channel": "AND channel_id BETWEEN %(channel)s AND %(channel)s ORDER BY channel_id DESC, id DESC",
    "consumer": "AND consumer_id BETWEEN %(consumer)s AND %(consumer)s ORDER BY consumer_id DESC, id DESC",
}
_LETTERS = """
SELECT max(l.entered_at), count(*), c.public_id, k.public_id, k.id, l.reason FROM (
    SELECT channel_id, consumer_id, reason, entered_at FROM dead_letter WHERE resolution IS NULL {newest} LIMIT %(most)s
) AS l JOIN channel c ON c.id = l.channel_id JOIN consumer k ON k.id = l.consumer_id
GROUP BY date_trunc('minute', l.entered_at), c.id, k.id, l.reason ORDER BY 1 DESC LIMIT %(limit)s
"""
_TURNS = """
SELECT turned.at, turned.words, c.public_id, k.public_id, k.id
FROM consumer_state s JOIN consumer k ON k.id = s.consumer_id JOIN channel c ON c.id = k.channel_id
CROSS JOIN LATERAL (
    VALUES (s.disabled_at, 'was disabled'), (s.paused_at, 'was paused'), (s.breaker_opened_at, 'opened its breaker')
) AS turned (at, words)
WHERE turned.at IS NOT NULL AND k.deleted_at IS NULL AND %(channel)s IN (0, c.id) AND %(consumer)s IN (0, k.id)
ORDER BY 1 DESC LIMIT %(limit)s
"""
# Episodes are few: no index is needed but their own.
_ALERTS = """
SELECT a.id, a.rule, concat_ws('/', c.public_id, k.public_id, nullif(a.part, '')), a.began_at, a.ended_at
FROM alert a LEFT JOIN channel c ON c.id = a.channel_id LEFT JOIN consumer k ON k.id = a.consumer_id
WHERE a.began_at IS NOT NULL AND %(channel)s IN (0, a.channel_id) AND %(consumer)s IN (0, a.consumer_id)
ORDER BY a.id DESC LIMIT %(limit)s
"""
# So are operations: people ask for them.
_OPERATIONS = """
SELECT id, kind, asked_by, status, created_at, finished_at FROM operation
WHERE %(channel)s IN (0, channel_id) ORDER BY id DESC LIMIT %(limit)s
"""
# Of all channels, or of several: they are nobody's in particular.
_REPORTS = """
SELECT id, asked_by, status, created_at, finished_at FROM report
WHERE %(channel)s = 0 ORDER BY id DESC LIMIT %(limit)s
"""


def events(scope: Scope, limit: int, kinds: Container[str]) -> list[Event]:
    """Of these kinds; others are not asked for, and push none of these out."""
    sources = [source for kind, source in SOURCES.items() if kind in kinds]
    found = [event for source in sources for event in source(scope, limit)]
    return sorted(found, key=lambda event: event.at, reverse=True)[:limit]


def _letters(scope: Scope, limit: int) -> Iterator[Event]:
    by = "consumer" if scope.consumer_id else "channel" if scope.channel_id else "all"
    for at, count, channel, consumer, consumer_id, reason in _rows(_LETTERS.format(newest=_NEWEST[by]), scope, limit):
        letters = "A dead letter" if count == 1 else f"{count} dead letters"
        url = listed(DeadLetter, **{CONSUMER: consumer_id, REASON: reason})
        yield Event(at, "letter", f"{letters} of {channel}/{consumer}: {reason}", url)


def _turns(scope: Scope, limit: int) -> Iterator[Event]:
    """How consumers stand now, by when they came to stand so."""
    for at, words, channel, consumer, consumer_id in _rows(_TURNS, scope, limit):
        yield Event(at, "consumer", f"{channel}/{consumer} {words}", address(Consumer(pk=consumer_id)))


def _alerts(scope: Scope, limit: int) -> Iterator[Event]:
    base = listed(Alert)
    for alert_id, rule, whose, began_at, ended_at in _rows(_ALERTS, scope, limit):
        url, text = f"{base}{alert_id}/change/", f"{rule}: {whose}" if whose else rule
        yield Event(began_at, "alert", text, url)
        if ended_at:
            yield Event(ended_at, "alert", f"{text} is over", url)


def _operations(scope: Scope, limit: int) -> Iterator[Event]:
    base = listed(Operation)
    for operation_id, kind, asked_by, status, created_at, finished_at in _rows(_OPERATIONS, scope, limit):
        url = f"{base}{operation_id}/change/"
        yield Event(created_at, "operation", f"{kind} began, asked for by {asked_by}", url)
        if status in ENDED and finished_at:
            yield Event(finished_at, "operation", f"{kind} {_ENDINGS[status]}", url)


def _reports(scope: Scope, limit: int) -> Iterator[Event]:
    base = listed(Report)
    for report_id, asked_by, status, created_at, finished_at in _rows(_REPORTS, scope, limit):
        url = f"{base}{report_id}/change/"
        yield Event(created_at, "report", f"A report was asked for by {asked_by}", url)
        if finished_at:
            ended = "A report is there" if status == ReportStatus.DONE else "A report failed"
            yield Event(finished_at, "report", ended, url)


def _acts(scope: Scope, limit: int) -> Iterator[Event]:
    rows = LogEntry.objects.select_related("user", "content_type").order_by("-pk")
    mine = [row for row in rows[: MOST_ACTS if scope.channel_id else limit] if _is_of(row, scope)]
    for row in mine[:limit]:
        said = row.get_change_message() or "Changed"
        text = (
            f"{row.user.get_username()}: {said} ({row.content_type.name if row.content_type else ''} {row.object_repr})"
        )
        yield Event(row.action_time, "admin", text, row.get_admin_url() or "")


def _is_of(row: LogEntry, scope: Scope) -> bool:
    """An act on the channel or on the consumer itself."""
    if not scope.channel_id:
        return True
    model = row.content_type.model if row.content_type else ""
    named = {("channel", str(scope.channel_id)), ("consumer", str(scope.consumer_id))}
    return (model, row.object_id) in named


def _rows(statement: str, scope: Scope, limit: int) -> list[tuple[Any, ...]]:
    told = {"channel": scope.channel_id, "consumer": scope.consumer_id, "most": MOST_LETTERS, "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute(statement, told)
        return cursor.fetchall()


_ENDINGS: dict[str, str] = {
    OperationStatus.DONE: "is done",
    OperationStatus.STOPPED: "was stopped",
    OperationStatus.FAILED: "failed",
}
# By the kind of its events. Whoever has something to tell adds to it.
SOURCES: dict[str, Source] = {
    "letter": _letters,
    "consumer": _turns,
    "alert": _alerts,
    "operation": _operations,
    "report": _reports,
    "admin": _acts,
}
