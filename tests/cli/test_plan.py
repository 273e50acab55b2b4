from pathlib import Path

import pytest

from broker_project.cli.plan import Plan


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),  # noqa: S104
        ("::", "http://[::1]:8000"),
        ("broker.example", "http://broker.example:8000"),
    ],
)
def test_the_address_is_one_that_can_be_followed_from_here(host: str, address: str) -> None:
    assert Plan(Path("/data"), host).web == address


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1:8003"), ("0.0.0.0", "127.0.0.1:8003"), ("::", "[::1]:8003")],  # noqa: S104
)
def test_the_grpc_door_is_three_ports_on_and_listens_where_the_web_server_does(host: str, address: str) -> None:
    plan = Plan(Path("/data"), host)
    assert plan.grpc == address
    assert (host, 8003) in plan.listens


def test_brokers_of_two_directories_have_workers_of_different_names() -> None:
    assert Plan(Path("/one")).node != Plan(Path("/two")).node


def test_what_the_user_set_wins_but_for_the_services_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PUBLIC_URL", "https://broker.example")
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.delenv("ECHO_URL", raising=False)
    monkeypatch.setenv("BROKER_URL", "amqp://elsewhere")
    environment = Plan(Path("/data"), port=9000, urls={"DATABASE_URL": "postgresql://ours"}).environment()
    assert environment["PUBLIC_URL"] == "https://broker.example"
    assert environment["DATABASE_URL"] == "postgresql://ours"
    assert environment["ECHO_URL"] == "http://127.0.0.1:9002"
    assert "BROKER_URL" not in environment
