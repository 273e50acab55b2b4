"""The proxy's configuration in a real nginx, before two servers that only say who they are and what they were sent."""

import re
import ssl
from collections.abc import Iterator

import httpx
import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, given
from hypothesis import settings as tries
from hypothesis import strategies as st

from broker_project import proxy_routes
from broker_project.api.frame import Route
from broker_project.asgi import ANYWHERE, DOORS
from channels_app.api.pull.lease import MOST_WAIT_SECONDS
from scheduling_app.grpc import health, methods
from tests.deploy.proxy import PROXY, Proxy, needs_nginx, proxying
from tests.deploy.tellers import telling

PLAIN = st.characters(codec="ascii", categories=["L", "N"])
BROKER, UPSTREAMS = (PROXY / "broker.conf").read_text(), (PROXY / "upstreams.conf").read_text()


def test_the_table_is_made_of_the_frames_routes() -> None:
    """Else: python -m broker_project.proxy_routes > deploy/proxy/doors.conf."""
    assert (PROXY / "doors.conf").read_text() == proxy_routes.table(DOORS)


def test_an_address_that_is_shared_is_shared_by_posts() -> None:
    assert {route.methods for route in DOORS if route.shared} == {("POST",)}


def test_calls_over_grpc_are_those_of_the_door() -> None:
    for service in (health.SERVICE, methods.SERVICE):
        assert re.escape(service) in BROKER


def test_the_proxy_hangs_up_before_a_server_that_stops_does() -> None:
    kept = {float(seconds) for seconds in re.findall(r"keepalive_timeout (\d+)s;", UPSTREAMS)}
    assert max(kept) < settings.WEB_DRAIN_SECONDS


def test_limits_of_the_proxy_are_those_of_the_broker_and_some_room() -> None:
    (header,) = re.findall(r"large_client_header_buffers \d+ (\d+)k;", BROKER)
    (body,) = re.findall(r"^client_max_body_size (\d+);", BROKER, flags=re.MULTILINE)
    (wait, *_) = re.findall(r"proxy_read_timeout (\d+)s;", BROKER)
    assert settings.MAX_TARGET_BYTES < int(header) * 1024 > settings.MAX_HEADER_BYTES
    assert int(body) == settings.MAX_PAYLOAD_BYTES + proxy_routes.ROOM_BYTES
    assert int(wait) > MOST_WAIT_SECONDS * 2


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with telling("doors", "django") as ports, proxying(tmp_path_factory.mktemp("proxy"), ports) as made:
        yield made


@pytest.fixture(scope="module")
def client(proxy: Proxy) -> Iterator[httpx.Client]:
    trusted = ssl.create_default_context(cafile=str(proxy.certificate))
    with httpx.Client(base_url=proxy.url, verify=trusted) as made:
        yield made


def by(client: httpx.Client, method: str, path: str) -> str:
    answer = client.request(method, path)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["by"])


@needs_nginx
@pytest.mark.parametrize("route", DOORS, ids=lambda route: route.path.pattern)
def test_the_doors_get_every_address_of_theirs(client: httpx.Client, route: Route) -> None:
    @tries(max_examples=5, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(path=st.from_regex(route.path, fullmatch=True, alphabet=PLAIN | st.sampled_from("/-._~")))
    def tried(path: str) -> None:
        first = next((one for one in DOORS if one.takes(route.methods[0], path)), None)
        if first is route and "/." not in path:
            assert by(client, route.methods[0], path) == "doors"

    tried()


def _addresses(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for one in patterns:
        path = before + re.sub(r"<[^>]+>", "x1", str(one.pattern))
        if isinstance(one, URLResolver):
            yield from _addresses(one.url_patterns, path)
        else:
            yield "/" + path


@needs_nginx
def test_django_gets_every_address_of_its_own(client: httpx.Client) -> None:
    addresses = {path for path in _addresses(get_resolver().url_patterns) if re.fullmatch(r"[\w/.-]+", path)}
    assert len(addresses) > 50
    for method in ("GET", "POST", "PUT", "DELETE"):
        for path in addresses:
            ours = any(route.takes(method, path) for route in (*DOORS, *ANYWHERE))
            assert by(client, method, path) == ("doors" if ours else "django"), (method, path)


@needs_nginx
def test_health_is_asked_of_the_doors_and_numbers_are_not_for_strangers(client: httpx.Client) -> None:
    assert {by(client, "GET", path) for path in ("/healthz", "/readyz", "/_status")} == {"doors"}
    answer = client.get("/metrics")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@needs_nginx
@pytest.mark.parametrize("path", ["/", "/channel/c/broadcast"])
def test_what_a_client_says_of_itself_does_not_count(client: httpx.Client, path: str) -> None:
    lies = {"X-Forwarded-For": "8.8.8.8", "X-Forwarded-Proto": "http", "X-Forwarded-Host": "evil", "Forwarded": "for=8"}
    answer = client.post(path, headers={**lies, "Host": "broker.example", "X_Kept_Header": "as it is"})
    told = {name.lower(): value for name, value in answer.json()["headers"]}
    assert (told["x-forwarded-for"], told["x-forwarded-proto"]) == ("127.0.0.1", "https")
    assert told["host"] == "broker.example"
    assert told["x_kept_header"] == "as it is"
    assert told.keys().isdisjoint({"x-forwarded-host", "forwarded", "connection"})


@needs_nginx
def test_plain_http_is_sent_to_https_with_its_method(proxy: Proxy) -> None:
    answer = httpx.post(f"http://127.0.0.1:{proxy.plain_port}/channel/c/broadcast?a=b")
    assert (answer.status_code, answer.headers["location"]) == (308, "https://127.0.0.1/channel/c/broadcast?a=b")


@needs_nginx
@pytest.mark.parametrize("path", ["/", "/channel/c/broadcast", "/metrics"])
def test_every_answer_says_https_only_once(client: httpx.Client, path: str) -> None:
    assert client.get(path).headers.get_list("strict-transport-security") == ["max-age=31536000; includeSubDomains"]


@needs_nginx
def test_a_body_is_taken_where_the_broker_takes_it(client: httpx.Client) -> None:
    large = b"x" * (settings.MAX_PAYLOAD_BYTES + proxy_routes.ROOM_BYTES + 1)
    assert client.post("/channel/c/broadcast", content=large[: settings.MAX_PAYLOAD_BYTES]).status_code == 200
    assert client.post("/channel/c/broadcast/batch", content=large).status_code == 200
    for path in ("/channel/c/broadcast", "/channels"):
        refused = client.post(path, content=large)
        assert (refused.status_code, refused.json()["code"]) == (413, "payload_too_large")


@needs_nginx
def test_headers_are_taken_as_far_as_the_broker_takes_them(client: httpx.Client) -> None:
    assert client.get("/", headers={"X-Long": "x" * (settings.MAX_HEADER_BYTES - 1024)}).status_code == 200
    assert client.get("/", headers={"X-Long": "x" * 50_000}).status_code == 400


@needs_nginx
def test_with_nobody_behind_it_the_proxy_says_when_to_come_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    with proxying(tmp_path_factory.mktemp("alone"), {}) as alone:
        trusted = ssl.create_default_context(cafile=str(alone.certificate))
        answer = httpx.post(f"{alone.url}/channel/c/broadcast", verify=trusted)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["code"] == "unavailable"
