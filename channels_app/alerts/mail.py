"""News by e-mail: what there is to tell the same people at the same time is one letter."""

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from smtplib import SMTPDataError, SMTPException, SMTPRecipientsRefused

import structlog
from django.conf import settings
from django.core.mail import EmailMessage

from channels_app.alerts.news import News, heard, untold
from channels_app.alerts.words import sentence
from channels_app.models import Alert

log = structlog.get_logger(__name__)

WAY = "mailed"
ROUND_SECONDS = 10.0
# What the server said of this letter. Anything else may be over in a moment, for all letters.
REFUSALS = (SMTPRecipientsRefused, SMTPDataError)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
ADMIN = "/admin/channels_app/alert/"


def tell(now: datetime) -> int:
    """Says how much was told. A server that is away is asked again in the next round."""
    if not settings.EMAIL_HOST:
        return 0
    deadline = time.monotonic() + ROUND_SECONDS
    letters = takewhile(lambda _letter: time.monotonic() <= deadline, _by_readers(now).items())
    return sum(_tell(to, news, now) for to, news in letters)


def _tell(to: tuple[str, ...], news: Sequence[News], now: datetime) -> int:
    """Noted letter by letter: a round that is cut short repeats none of them."""
    error = _send(EmailMessage(_subject(news), _text(news), to=to, headers=_headers(news)))
    if error is None:
        return heard(WAY, news)
    ids = {one.alert.pk for one in news}
    if isinstance(error, REFUSALS):
        Alert.objects.mail_was_refused(ids, wait_after_refusal, now)
    else:
        Alert.objects.mail_was_away(ids)
    return 0


def wait_after_refusal(refusals: int) -> timedelta:
    """Half a minute, then twice as long each time, up to an hour."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(refusals - 1, 16))


def _by_readers(now: datetime) -> dict[tuple[str, ...], list[News]]:
    readers: dict[tuple[str, ...], list[News]] = defaultdict(list)
    for news in untold(WAY, now):
        readers[_readers(news.alert)].append(news)
    return readers


def _readers(alert: Alert) -> tuple[str, ...]:
    return tuple(alert.addresses or settings.ALERT_EMAILS)


def _send(mail: EmailMessage) -> Exception | None:
    """What went wrong, if anything did."""
    try:
        mail.send()
    except (SMTPException, OSError) as error:
        # A server may repeat in its words what it was told: only the kind of the error is written.
        log.warning("alert.not_mailed", error=type(error).__name__, code=getattr(error, "smtp_code", None))
        return error
    log.info("alert.mailed", readers=len(mail.to))
    return None


def _subject(news: Sequence[News]) -> str:
    if len(news) == 1:
        [one] = news
        return " ".join(f"[broker] {_word(one)}: {one.alert}".split())
    began = sum(one.event == "began" for one in news)
    return f"[broker] {began} alerts began, {len(news) - began} are over"


def _text(news: Sequence[News]) -> str:
    return "\n".join(line for one in news for line in _lines(one))


def _lines(news: News) -> Iterator[str]:
    alert = news.alert
    yield f"{_word(news)}: {alert}"
    yield f"  {sentence(alert)}"
    yield f"  {news.at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"  {settings.PUBLIC_URL}{ADMIN}{alert.pk}/change/"
    yield ""


def _word(news: News) -> str:
    return "Alert" if news.event == "began" else "Over"


def _headers(news: Sequence[News]) -> dict[str, str]:
    """The same letter tried again has the same id: mail programs show it once."""
    digest = hashlib.sha256(" ".join(one.id for one in news).encode()).hexdigest()[:32]
    return {"Message-ID": f"<alert-{digest}@broker>", "Auto-Submitted": "auto-generated"}
