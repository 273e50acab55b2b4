"""Why a try or a job failed: one list for jobs, attempts, counters and dead letters."""

import re
from enum import StrEnum


class Reason(StrEnum):
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    HTTP_3XX = "http_3xx"
    GONE = "gone"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    DNS = "dns"
    TLS = "tls"
    PROTOCOL = "protocol"
    EGRESS_DENIED = "egress_denied"
    ACK_TIMEOUT = "ack_timeout"
    NACKED = "nacked"
    EXPIRED = "expired"
    POISON = "poison"
    WORKER_LOST = "worker_lost"
    CONSUMER_GONE = "consumer_gone"
    CHANNEL_GONE = "channel_gone"


# What to do next about a job that died of it.
ADVICE: dict[Reason, str] = {
    Reason.HTTP_4XX: "The consumer refused it: compare payload and headers with what it takes, edit and send again.",
    Reason.HTTP_5XX: "The consumer failed: look at its own log under this message id, mend it, then requeue.",
    Reason.HTTP_3XX: "Redirects are not followed: set callbackUrl to where the answer points, then requeue.",
    Reason.GONE: "The consumer said 410 and is disabled: delete it, or resume it and requeue.",
    Reason.TIMEOUT: "The consumer did not answer in time: raise timeoutSeconds or lower maxInFlight, then requeue.",
    Reason.REFUSED: "Nothing listens at callbackUrl: check that the consumer runs and can be reached, then requeue.",
    Reason.DNS: "The host of callbackUrl is not known: check its name and this machine's resolver, then requeue.",
    Reason.TLS: "The consumer's certificate is not trusted, or has run out: renew it, then requeue.",
    Reason.PROTOCOL: "What answers at callbackUrl does not speak proper HTTP: check port and scheme, then requeue.",
    Reason.EGRESS_DENIED: "Its address is not public: allow it in EGRESS_ALLOW or change callbackUrl, then requeue.",
    Reason.ACK_TIMEOUT: "The consumer took it and never acknowledged: check its workers or raise ackTimeoutSeconds.",
    Reason.NACKED: "The consumer said that it failed: read its error, mend the cause, then requeue.",
    Reason.EXPIRED: "It waited past maxAgeSeconds or its ttl: see what held it up, then requeue if it is still wanted.",
    Reason.POISON: "Whoever takes it dies of it: look at its payload before you requeue it; edit or discard it.",
    Reason.WORKER_LOST: "A worker was lost while it sent it: see the log of the workers, then requeue.",
    Reason.CONSUMER_GONE: "Its consumer was deleted: discard it.",
    Reason.CHANNEL_GONE: "Its channel was deleted: discard it.",
}


def is_answer(text: str) -> bool:
    """What a retry policy may call final: a status code from 300 to 599, or a reason."""
    return text in set(Reason) or re.fullmatch("[345][0-9][0-9]", text) is not None
