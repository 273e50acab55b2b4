"""When a part counts as up: it answers. Each question is given the plan's names and the seconds it has lived."""

import http.client
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from celery import Celery
from kombu.exceptions import OperationalError

from broker_project.lib import http2

Ready = Callable[[Mapping[str, str], float], bool]
PATIENCE_SECONDS = 2.0


def http_ok(address: str) -> Ready:
    """Answers 200. Asked without urllib: it would ask a proxy of the environment instead."""
    return lambda names, _lived: _get(address.format(**names)) == 200


def http2_answers(address: str) -> Ready:
    """Greets back in HTTP/2, which gRPC speaks. Not by its library: its threads and a manager that forks clash."""
    return lambda names, _lived: _greets(address.format(**names))


def worker(queue: str) -> Ready:
    """A Celery worker that answers a ping."""
    return lambda names, _lived: _pong(f"{queue}-{names['node']}", names["redis_url"])


def lived(seconds: float) -> Ready:
    """For parts that cannot be asked: it did not fall over at once."""
    return lambda _names, lived_seconds: lived_seconds >= seconds


def _get(url: str) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", parts.path or "/")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _greets(address: str) -> bool:
    try:
        with socket.create_connection(http2.host_and_port(address), timeout=PATIENCE_SECONDS) as connection:
            connection.sendall(http2.GREETING)
            return http2.greets(connection.recv(http2.HEAD_BYTES, socket.MSG_WAITALL))
    except OSError:
        return False


def _pong(node: str, redis_url: str) -> bool:
    # Kombu has its own words for a socket.
    url = redis_url.replace("unix://", "redis+socket://").replace("?db=", "?virtual_host=")
    app = Celery(broker=url, set_as_current=False)
    connection = app.connection_for_write(transport_options={"socket_timeout": PATIENCE_SECONDS})
    no_answer: tuple[type[BaseException], ...] = (OperationalError, *connection.connection_errors)
    try:
        with connection:
            return bool(app.control.ping(destination=[node], timeout=0.5, limit=1, connection=connection))
    except no_answer:
        return False
