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


def is_answer(text: str) -> bool:
    """What a retry policy may call final: a status code from 300 to 599, or a reason."""
    return text in set(Reason) or re.fullmatch("[345][0-9][0-9]", text) is not None
