"""News by the operations webhook: signed as deliveries are, posted until it was heard."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime

import aiohttp
import structlog
from django.conf import settings
from yarl import URL

from broker_project.lib import webhooks
from broker_project.lib.egress import allowed_from
from channels_app.alerts.news import News, heard, untold
from channels_app.delivery.webhook import USER_AGENT, open_session

log = structlog.get_logger(__name__)

POST_SECONDS = 3.0
ROUND_SECONDS = 5.0
WAY = "posted"


def tell(now: datetime) -> int:
    """Says how much was told."""
    if not settings.OPERATIONS_WEBHOOK_URL:
        return 0
    news = list(untold(WAY, now))
    return heard(WAY, asyncio.run(_post_all(news))) if news else 0


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
    log.info("alert.posted", id=news.id, answer=answer, ok=ok)
    return ok


def _headers(news: News) -> dict[str, str]:
    at, secret = int(time.time()), settings.OPERATIONS_WEBHOOK_SECRET
    headers = {
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "webhook-id": news.id,
        "webhook-timestamp": str(at),
    }
    if not secret:
        return headers
    signature = webhooks.sign(news.body, message_id=news.id, at=at, live=[secret])
    return {**headers, "webhook-signature": signature}
