"""One look at everything that a rule speaks of: episodes begin and end, each once. A constant number of statements."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, transaction

from broker_project.lib.pg_lock import only_one
from channels_app.alerts.judging import Move, first_move, move_open, move_suspected, verdicts
from channels_app.alerts.sources import MEASURES, rules
from channels_app.alerts.values import Reading, Rule, Subject, Verdict
from channels_app.models import Alert, AlertKind, Progress

log = structlog.get_logger(__name__)

WATCH_LOCK = 7_013
# The row that says when this was last done.
PART = "alerts"
# After a longer pause nobody knows whether what is suspected has held all the while.
LONGEST_GAP = timedelta(minutes=2)

Key = tuple[str, Subject]


def watch(now: datetime) -> int:
    """Begins and ends alerts; says how many. Of several at once one looks, the others have nothing to do."""
    with only_one(WATCH_LOCK, patience_seconds=0) as is_ours:
        return _look(now) if is_ours else 0


def _look(now: datetime) -> int:
    wanted = rules()
    said, blind = _ask(wanted, now)
    with transaction.atomic():
        _forget_what_was_not_watched(now)
        moved = _judge(said, blind, {rule.key for rule in wanted}, now)
        changed = _write(moved, said, now)
        Progress.objects.mark(PART, now)
    _say(changed)
    return len(changed)


def _ask(wanted: Sequence[Rule], now: datetime) -> tuple[dict[Key, Verdict], set[str]]:
    """What the rules say, and of which kinds there is no telling now: one that cannot be measured stops no other."""
    by_kind: dict[AlertKind, list[Rule]] = defaultdict(list)
    for rule in wanted:
        by_kind[rule.kind].append(rule)
    said: dict[Key, Verdict] = {}
    blind: set[str] = set()
    for kind, of_kind in by_kind.items():
        try:
            with transaction.atomic():
                measured = list(MEASURES[kind](of_kind, now))
        except DatabaseError as error:
            log.warning("alerts.cannot_measure", kind=kind, error=type(error).__name__)
            blind.add(kind)
            continue
        said |= {(one.rule.key, one.measured.subject): one for one in verdicts(of_kind, measured)}
    return said, blind


def _forget_what_was_not_watched(now: datetime) -> None:
    last = Progress.objects.filter(name=PART).first()
    if last is None or now - last.at > LONGEST_GAP:
        Alert.objects.suspected().delete()


def _judge(said: dict[Key, Verdict], blind: set[str], wanted: set[str], now: datetime) -> dict[Move, list[Alert]]:
    moves: dict[Move, list[Alert]] = defaultdict(list)
    known = {_key(alert): alert for alert in Alert.objects.unfinished().select_for_update().order_by("pk")}
    for key, alert in known.items():
        moves[_move(alert, said.get(key), alert.kind in blind, key[0] in wanted, now)].append(alert)
    for key, verdict in said.items():
        if key not in known:
            moves[first_move(verdict.rule, verdict.reading)].append(_new(verdict, now))
    return moves


def _move(alert: Alert, verdict: Verdict | None, is_blind: bool, is_wanted: bool, now: datetime) -> Move:
    if not is_wanted:
        return Move.END if alert.began_at else Move.FORGET
    reading = Reading.UNKNOWN if is_blind else verdict.reading if verdict else Reading.CALM
    hold = timedelta(seconds=alert.hold_seconds)
    if alert.began_at is None:
        return move_suspected(reading, crossed_at=alert.crossed_at, hold=hold, now=now)
    return move_open(reading, calm_at=alert.calm_at, hold=hold, now=now)


def _write(moves: dict[Move, list[Alert]], said: dict[Key, Verdict], now: datetime) -> list[Alert]:
    """Returns those that began or ended."""
    alerts = Alert.objects
    suspected = [alert for alert in moves[Move.BEGIN] if alert.pk]
    for alert in suspected:
        _measure(alert, said[_key(alert)])
    alerts.begin(suspected, now)
    begun = alerts.bulk_create(_begun(moves[Move.BEGIN], now))
    alerts.bulk_create(alert for alert in moves[Move.SUSPECT])
    alerts.stir(_ids(moves[Move.STIR]))
    alerts.calm(_ids(moves[Move.CALM]), now)
    alerts.end(_ids(moves[Move.END]), now)
    alerts.forget(_ids(moves[Move.FORGET]))
    return list(alerts.named().filter(pk__in=_ids([*suspected, *begun, *moves[Move.END]])).order_by("pk"))


def _begun(moved: Iterable[Alert], now: datetime) -> Iterator[Alert]:
    for alert in moved:
        if alert.pk is None:
            alert.began_at = now
            yield alert


def _new(verdict: Verdict, now: datetime) -> Alert:
    rule, subject = verdict.rule, verdict.measured.subject
    alert = Alert(
        rule_key=rule.key,
        rule=rule.name,
        kind=rule.kind,
        channel_id=subject.channel_id,
        consumer_id=subject.consumer_id,
        part=subject.part,
        hold_seconds=rule.hold_seconds,
        crossed_at=now,
        to_webhook=rule.to_webhook,
        to_email=rule.to_email,
        addresses=list(rule.addresses),
    )
    _measure(alert, verdict)
    return alert


def _measure(alert: Alert, verdict: Verdict) -> None:
    alert.threshold, alert.value = verdict.rule.threshold, verdict.measured.value or 0.0


def _say(changed: Sequence[Alert]) -> None:
    for alert in changed:
        log.warning(
            "alert.ended" if alert.ended_at else "alert.began",
            rule=alert.rule,
            kind=alert.kind,
            about=alert.about,
            threshold=alert.threshold,
            value=alert.value,
        )


def _key(alert: Alert) -> Key:
    return alert.rule_key, Subject(alert.channel_id, alert.consumer_id, alert.part)


def _ids(alerts: Iterable[Alert]) -> list[int]:
    return [alert.pk for alert in alerts]
