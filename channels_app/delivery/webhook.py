"""Step 4: one job is POSTed to its consumer, or a note to one that asks. The only place that opens a socket to one."""

import socket
import time
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any

import aiohttp
from django.conf import settings
from yarl import URL

import broker_project
from broker_project.lib import webhooks
from broker_project.lib.egress import Egress, EgressDenied
from channels_app.delivery.answers import ANSWER_BYTES, understood
from channels_app.delivery.claim import Job
from channels_app.delivery.connector import GuardedConnector
from channels_app.delivery.lookups import LookUp, Lookups
from channels_app.delivery.retry import Outcome
from channels_app.delivery.target import Addressee, Target
from channels_app.models.channel import Answers
from channels_app.reasons import Reason

CONNECT_SECONDS = 10.0
SNIPPET_BYTES = 1024
USER_AGENT = f"message-broker/{broker_project.__version__}"


class _Request(aiohttp.ClientRequest):
    """Header values are kept as text with a character for each byte; the client would write them as UTF-8."""

    async def write_bytes(self, writer: Any, conn: Any, content_length: int | None = None) -> None:
        # Headers and body go out together, so the headers are still there to be put right.
        head: bytes | None = writer._headers_buf
        if head is not None and not head.isascii():
            writer._headers_buf = _byte_for_byte(head)
        await super().write_bytes(writer, conn, content_length)


def _byte_for_byte(head: bytes) -> bytes:
    try:
        return head.decode().encode("latin1")
    except UnicodeEncodeError:
        # A token may hold any character; there is no byte for it.
        return head


def open_session(egress: Egress, look_up: LookUp = socket.getaddrinfo) -> aiohttp.ClientSession:
    """Keep-alive, no proxies from the environment, no cookies, and every address judged as it is connected to."""
    connector = GuardedConnector(egress, Lookups(look_up), limit=0, ttl_dns_cache=10, keepalive_timeout=30)
    return aiohttp.ClientSession(
        connector=connector,
        request_class=_Request,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )


async def send(session: aiohttp.ClientSession, target: Target, job: Job) -> Outcome:
    """Never raises for what a consumer does: its failure is an outcome."""
    began = time.perf_counter()
    try:
        return await _post(session, target, job, began)
    except (aiohttp.ClientError, OSError, TimeoutError, UnicodeError) as error:
        return Outcome(reason=_reason_of(error), error=_words(error, target), duration_ms=_since(began))


async def send_note(session: aiohttp.ClientSession, to: Addressee, *, note_id: str, body: bytes, seconds: float) -> str:
    """A word to a consumer that asks. Whatever it answers, this says what came of it, for the log, and no more."""
    headers = {**_signed(to, note_id, body), "Content-Type": "application/json", "X-Request-ID": note_id}
    try:
        async with session.post(
            _url(to.callback_url), data=body, headers=headers, timeout=_timeout(seconds), allow_redirects=False
        ) as response:
            # Read, so that the connection can be used again.
            await _read(response)
            return str(response.status)
    except (aiohttp.ClientError, OSError, TimeoutError, UnicodeError) as error:
        return _reason_of(error).value


async def _post(session: aiohttp.ClientSession, target: Target, job: Job, began: float) -> Outcome:
    async with session.post(
        _url(target.callback_url),
        data=job.payload,
        headers=headers_of(target, job),
        timeout=_timeout(target.timeout_seconds),
        allow_redirects=False,
    ) as response:
        answer = await _read(response)
    outcome = Outcome(
        reason=_reason_for(response.status),
        status_code=response.status,
        answer=answer[:SNIPPET_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd"),
        retry_after_seconds=_retry_after(response.headers.get("Retry-After", "")),
        gone=response.status == 410,
        duration_ms=_since(began),
    )
    return understood(outcome, answer) if target.answers == Answers.DAPR else outcome


@lru_cache(10_000)
def _url(text: str) -> URL:
    return URL(text)


@lru_cache(1_000)
def _timeout(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(CONNECT_SECONDS, seconds))


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Up to a cap; a longer answer ends the connection rather than filling memory."""
    answer = b""
    async for piece in response.content.iter_any():
        answer += piece
        if len(answer) > ANSWER_BYTES:
            response.close()
            break
    return answer


def _signed(to: Addressee, webhook_id: str, body: bytes) -> dict[str, str]:
    """Who it is for, and that it is from us."""
    at = int(time.time())
    return {
        "User-Agent": USER_AGENT,
        "X-Broker-Channel-ID": to.channel,
        "X-Broker-Consumer-ID": to.consumer,
        "X-Broker-Consumer-Token": to.token,
        "webhook-id": webhook_id,
        "webhook-timestamp": str(at),
        "webhook-signature": webhooks.sign(body, message_id=webhook_id, at=at, live=to.secrets),
    }


def headers_of(target: Addressee, job: Job) -> dict[str, str]:
    """What a job is sent with; the client adds Host, Accept and Content-Length."""
    return {
        **{name: str(value) for name, value in job.headers.items()},
        **_signed(target, job.message_id, job.payload),
        "Content-Type": job.content_type,
        "X-Broker-Message-ID": job.message_id,
        "X-Broker-Message-Priority": str(job.priority),
        "X-Broker-Job-ID": str(job.job_id),
        "X-Broker-Attempt": str(job.attempt),
        "X-Broker-Metadata-Headers": ",".join(job.headers),
        "X-Request-ID": f"job-{job.job_id}-{job.attempt}",
    }


def _reason_for(status: int) -> Reason | None:
    if 200 <= status < 300:
        return None
    if status == 410:
        return Reason.GONE
    if status >= 500:
        return Reason.HTTP_5XX
    return Reason.HTTP_4XX if status >= 400 else Reason.HTTP_3XX


def _reason_of(error: BaseException) -> Reason:
    if isinstance(error, EgressDenied) or isinstance(error.__cause__, EgressDenied):
        return Reason.EGRESS_DENIED
    if isinstance(error, TimeoutError):
        return Reason.TIMEOUT
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Reason.DNS
    if isinstance(error, aiohttp.ClientSSLError):
        return Reason.TLS
    return Reason.REFUSED if isinstance(error, aiohttp.ClientConnectorError) else Reason.PROTOCOL


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)


def _words(error: BaseException, target: Target) -> str:
    """The URL may hold a secret, and whoever opens the channel reads this."""
    is_silent = isinstance(error, TimeoutError) and not str(error)
    text = f"{type(error).__name__}: {f'no answer within {target.timeout_seconds:g} s' if is_silent else error}"
    for url in (target.callback_url, str(_url(target.callback_url))):
        text = text.replace(url, "the callback URL")
    return text.replace("\x00", "\ufffd")[:SNIPPET_BYTES]


def _retry_after(text: str) -> float:
    """Seconds, or a date; what is neither asks for nothing."""
    if text.isascii() and text.isdigit():
        seconds = float(text[:9])
    else:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(0.0, min(seconds, settings.RETRY_AFTER_MAX_SECONDS))
