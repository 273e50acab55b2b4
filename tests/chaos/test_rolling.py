"""Every part is replaced, one by one, behind the proxy and under load: no publisher and no consumer notices."""

import http.client
import ssl
from collections.abc import Iterator
from signal import SIGTERM

import pytest

from tests.chaos import invariants
from tests.chaos.broker import DELIVERERS, SECOND_WEB, Broker
from tests.chaos.load import under_load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale
from tests.deploy.proxy import Proxy, needs_nginx, proxying

IN_TURN = ("web", SECOND_WEB, "worker-dispatch", *DELIVERERS, "beat")

pytestmark = needs_nginx


@pytest.fixture
def proxy(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """In front of two web servers."""
    broker.parts.restart(SECOND_WEB)
    ports = broker.web_ports
    with proxying(tmp_path_factory.mktemp("proxy"), {"doors": ports, "django": ports}) as made:
        yield made
    broker.parts.end(SECOND_WEB)


def test_parts_are_replaced_one_by_one_and_nobody_notices(
    broker: Broker, receiver: Receiver, scale: Scale, proxy: Proxy
) -> None:
    trusted = ssl.create_default_context(cafile=str(proxy.certificate))

    def connect() -> http.client.HTTPConnection:
        return http.client.HTTPSConnection("127.0.0.1", proxy.port, timeout=30, context=trusted)

    with under_load(broker, receiver, scale, connect) as load:
        for _ in range(scale.blows):
            for name in IN_TURN:
                broker.parts.end(name, SIGTERM)
                broker.parts.restart(name)
                load.publish_more()
        load.deliver_more()

    invariants.hold(load)
    assert load.troubles == [], "a publisher was answered something else than 201"
    assert invariants.reasons(load) == set(), "a delivery was cut short"
