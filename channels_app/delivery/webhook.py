"""Step 4: one job is POSTed to its consumer. The only place that opens a socket to one."""

import socket
import time
from collections.abc import Callable
from typing import Any

import aiohttp

import broker_project
from broker_project.lib import webhooks
from broker_project.lib.egress import Egress, EgressDenied
from channels_app.delivery.claim import Job, Target
from channels_app.delivery.retry import Outcome
from channels_app.reasons import Reason

CONNECT_SECONDS = 10.0
ANSWER_BYTES = 64 * 1024
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


def open_session(egress: Egress) -> aiohttp.ClientSession:
    """Keep-alive, no proxies from the environment, no cookies, and every address judged as it is connected to."""
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=10, keepalive_timeout=30, socket_factory=_guarded(egress))
    return aiohttp.ClientSession(
        connector=connector,
        request_class=_Request,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )


def _guarded(egress: Egress) -> Callable[[Any], socket.socket]:
    """A resolver would never see an IP literal, nor a name that changes between look-up and connection."""

    def make_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not egress.permits(address[0]):
            raise EgressDenied(f"{address[0]} is not an address that messages may be sent to")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    return make_socket


async def send(session: aiohttp.ClientSession, target: Target, job: Job) -> Outcome:
    """Never raises for what a consumer does: its failure is an outcome."""
    began = time.perf_counter()
    try:
        outcome = await _post(session, target, job)
    except (aiohttp.ClientError, OSError, TimeoutError, UnicodeError) as error:
        outcome = Outcome(reason=_reason_of(error), error=_words(error))
    milliseconds = round((time.perf_counter() - began) * 1000)
    return Outcome(**{**outcome.__dict__, "duration_ms": milliseconds})


async def _post(session: aiohttp.ClientSession, target: Target, job: Job) -> Outcome:
    timeout = aiohttp.ClientTimeout(
        total=target.timeout_seconds, sock_connect=min(CONNECT_SECONDS, target.timeout_seconds)
    )
    async with session.post(
        target.callback_url, data=job.payload, headers=_headers(target, job), timeout=timeout, allow_redirects=False
    ) as response:
        answer = await _read(response)
    return Outcome(
        reason=_reason_for(response.status),
        status_code=response.status,
        answer=answer[:SNIPPET_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd"),
        retry_after_seconds=_retry_after(response.headers.get("Retry-After", "")),
        gone=response.status == 410,
    )


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Up to a cap; a longer answer ends the connection rather than filling memory."""
    answer = b""
    async for piece in response.content.iter_any():
        answer += piece
        if len(answer) > ANSWER_BYTES:
            response.close()
            break
    return answer


def _headers(target: Target, job: Job) -> dict[str, str]:
    at = int(time.time())
    return {
        **{name: str(value) for name, value in job.headers.items()},
        "Content-Type": job.content_type,
        "User-Agent": USER_AGENT,
        "X-Broker-Message-ID": job.message_id,
        "X-Broker-Message-Priority": str(job.priority),
        "X-Broker-Channel-ID": target.channel,
        "X-Broker-Consumer-ID": target.consumer,
        "X-Broker-Consumer-Token": target.token,
        "X-Broker-Job-ID": str(job.job_id),
        "X-Broker-Attempt": str(job.attempt),
        "X-Broker-Metadata-Headers": ",".join(job.headers),
        "X-Request-ID": f"job-{job.job_id}-{job.attempt}",
        "webhook-id": job.message_id,
        "webhook-timestamp": str(at),
        "webhook-signature": webhooks.sign(job.payload, message_id=job.message_id, at=at, live=target.secrets),
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


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:SNIPPET_BYTES]


def _retry_after(text: str) -> float:
    """Seconds only; a date is for people."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0.0
