"""The doors and Django in processes of their own, behind the real proxy."""

import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import grpc
import httpx
import pytest

from scheduling_app.grpc import health
from tests.acceptance.servers import Broker, broker, free_port, wait_until
from tests.deploy.proxy import Proxy, needs_nginx, proxying

__all__ = ["broker"]

pytestmark = needs_nginx

PUBLISHES = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
PULLS = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}


@dataclass(frozen=True)
class Apart:
    doors: httpx.Client
    django: httpx.Client
    proxy: Proxy
    # Through the proxy, with an API key.
    web: httpx.Client


@pytest.fixture(scope="module")
def apart(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    doors, django, grpc_port = broker.serve(WEB_SERVES="doors"), broker.serve(WEB_SERVES="django"), free_port()
    broker.start("-m", "broker_project.grpc_server", "--port", str(grpc_port))
    ports = {"doors": [doors.base_url.port or 0], "django": [django.base_url.port or 0], "grpc": [grpc_port]}
    with proxying(tmp_path_factory.mktemp("proxy"), ports) as proxy:
        trusted = ssl.create_default_context(cafile=str(proxy.certificate))
        with httpx.Client(base_url=proxy.url, verify=trusted, headers=django.headers, timeout=40) as web:
            web.put("/channel/c", json={"token": "open"}).raise_for_status()
            web.put("/producer/shop", json={"token": "sell"}).raise_for_status()
            web.put("/channel/c/consumer/k", json={"type": "pull", "token": "mine"}).raise_for_status()
            yield Apart(doors, django, proxy, web)


def test_a_message_is_published_at_one_and_read_at_the_other(apart: Apart) -> None:
    published = apart.web.post("/channel/c/broadcast", json={"hello": "world"}, headers=PUBLISHES)
    assert published.status_code == 201
    shown = apart.web.get(published.headers["location"])
    assert (shown.status_code, shown.json()["payload"]) == (200, '{"hello":"world"}')


def test_pages_documents_and_static_files_come_from_django(apart: Apart) -> None:
    assert apart.web.get("/admin/login/").status_code == 200
    assert apart.web.get("/openapi.json").json()["openapi"].startswith("3.")
    assert apart.web.get("/docs").status_code == 200


def test_a_session_over_the_proxy_is_one_over_https(apart: Apart, broker: Broker) -> None:
    """What the proxy says of the client is believed: a form's origin is https."""
    page = apart.web.get("/admin/login/")
    token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    headers = {"Origin": apart.proxy.url, "Referer": f"{apart.proxy.url}/admin/login/"}
    form = {"csrfmiddlewaretoken": token, "username": "nobody", "password": "wrong"}
    assert apart.web.post("/admin/login/", data=form, headers=headers).status_code == 200


def test_a_long_poll_waits_through_the_proxy(apart: Apart) -> None:
    answers: list[httpx.Response] = []

    def ask() -> None:
        asked = {"waitSeconds": 30, "limit": 1000}
        answers.append(apart.web.post("/channel/c/consumer/k/lease", json=asked, headers=PULLS))

    apart.web.post("/channel/c/consumer/k/lease", json={"limit": 1000}, headers=PULLS).raise_for_status()
    waiting = threading.Thread(target=ask)
    waiting.start()
    answered = apart.web.post("/channel/c/consumer/k/seek", json={}, headers=PULLS)
    assert answered.status_code in (400, 409), "the door is not held up by who waits"
    waiting.join(40)
    assert [answer.status_code for answer in answers] == [200]


@pytest.mark.parametrize("path", ["/channel/c", "/admin/", "/docs"])
def test_the_doors_send_away_what_is_djangos(apart: Apart, path: str) -> None:
    answer = apart.doors.get(path)
    assert (answer.status_code, answer.json()["code"]) == (421, "misdirected")


@pytest.mark.parametrize("path", ["/channel/c/broadcast", "/channel/c/consumer/k/lease", "/v1.0/publish/pubsub/c"])
def test_django_sends_away_what_is_the_doors(apart: Apart, path: str) -> None:
    assert apart.django.post(path, json={}, headers=PUBLISHES).status_code == 421


def test_both_tell_their_health_and_the_numbers_of_all(apart: Apart) -> None:
    for web in (apart.doors, apart.django):
        assert web.get("/healthz").status_code == 200
        assert web.get("/readyz").status_code == 200
        assert web.get("/metrics").status_code == 200
    assert apart.web.get("/metrics").status_code == 404


def test_grpc_passes_through_with_tls(apart: Apart) -> None:
    trusted = grpc.ssl_channel_credentials(apart.proxy.certificate.read_bytes())
    with grpc.secure_channel(f"127.0.0.1:{apart.proxy.port}", trusted) as channel:
        ask = channel.unary_unary(f"/{health.SERVICE}/Check")

        def serves() -> bool:
            try:
                return bool(ask(b"", timeout=5) == health.SERVING)
            except grpc.RpcError:
                return False

        wait_until(serves, 40)
