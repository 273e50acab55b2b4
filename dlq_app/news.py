"""What the operations webhook is told of alerts: that one began, and that it is over. Until it has heard."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import structlog
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now
from yarl import URL

from broker_project.lib import webhooks
from broker_project.lib.egress import allowed_from
from channels_app.delivery.webhook import USER_AGENT, open_session
from dlq_app.models import DeadLetterAlert

log = structlog.get_logger(__name__)

POST_SECONDS = 3.0
ROUND_SECONDS = 5.0
MOST = 100
# A webhook that was away for longer, or has only now been set, is not told of old times.
OVER_FOR = timedelta(days=1)

_UNTOLD = Q(began_told_at__isnull=True, ended_at__isnull=True) | Q(
    ended_told_at__isnull=True, ended_at__gt=Now() - OVER_FOR
)


@dataclass(frozen=True)
class News:
    """`event` is began or ended."""

    alert: DeadLetterAlert
    event: str

    @property
    def webhook_id(self) -> str:
        """The same for each try: who got it twice can tell."""
        return f"dead-letter-alert-{self.alert.pk}-{self.event}"

    @property
    def body(self) -> bytes:
        alert = self.alert
        told: dict[str, Any] = {
            "type": f"dead_letters.alert_{self.event}",
            "channel": alert.channel.public_id,
            "kind": alert.kind,
            "threshold": alert.threshold,
            "value": alert.value,
            "beganAt": alert.began_at.isoformat(),
            "endedAt": alert.ended_at.isoformat() if alert.ended_at and self.event == "ended" else None,
        }
        return json.dumps(told).encode()


def tell() -> int:
    """Says how much was told."""
    if not settings.OPERATIONS_WEBHOOK_URL:
        return 0
    news = list(_untold())
    told = asyncio.run(_post_all(news)) if news else []
    for event in ("began", "ended"):
        heard = [one.alert.pk for one in told if one.event == event]
        DeadLetterAlert.objects.filter(pk__in=heard).update(**{f"{event}_told_at": Now()})
    return len(told)


def _untold() -> Iterator[News]:
    for alert in DeadLetterAlert.objects.select_related("channel").filter(_UNTOLD).order_by("pk")[:MOST]:
        if alert.began_told_at is None:
            yield News(alert, "began")
        if alert.ended_at and alert.ended_told_at is None:
            yield News(alert, "ended")


async def _post_all(news: Sequence[News]) -> list[News]:
    """In order, up to the first that is not taken: the rest would fare no better. Whoever waits does so briefly."""
    deadline, told = time.monotonic() + ROUND_SECONDS, []
    async with open_session(allowed_from(settings.EGRESS_ALLOW)) as session:
        for one in news:
            if time.monotonic() > deadline or not await _post(session, one):
                break
            told.append(one)
    return told


async def _post(session: aiohttp.ClientSession, news: News) -> bool:
    try:
        async with session.post(
            URL(settings.OPERATIONS_WEBHOOK_URL),
            data=news.body,
            headers=_headers(news),
            timeout=aiohttp.ClientTimeout(total=POST_SECONDS),
            allow_redirects=False,
        ) as response:
            answer = str(response.status)
            ok = 200 <= response.status < 300
    except (aiohttp.ClientError, OSError, TimeoutError, UnicodeError) as error:
        # The words of the error may hold the URL, and that a secret.
        answer, ok = type(error).__name__, False
    log.info("dead_letters.alert_told", id=news.webhook_id, answer=answer, ok=ok)
    return ok


def _headers(news: News) -> dict[str, str]:
    at, secret = int(time.time()), settings.OPERATIONS_WEBHOOK_SECRET
    headers = {
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "webhook-id": news.webhook_id,
        "webhook-timestamp": str(at),
    }
    if not secret:
        return headers
    signature = webhooks.sign(news.body, message_id=news.webhook_id, at=at, live=[secret])
    return {**headers, "webhook-signature": signature}
