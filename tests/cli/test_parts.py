from dataclasses import replace
from pathlib import Path

import pytest

from broker_project.cli import launch
from broker_project.cli.parts import BY_NAME, PARTS
from broker_project.cli.plan import Plan


def test_work_stops_coming_before_the_workers_stop_and_the_data_goes_last() -> None:
    order = [part.name for part in sorted(PARTS, key=lambda part: part.stops)]
    assert set(order[:4]) == {"beat", "web", "grpc", "flower"}
    assert set(order[4:8]) == {"worker-dispatch", "worker-delivery", "worker-delivery-2", "worker-reports"}
    assert order[8:] == ["echo", "redis", "postgres"]


def test_a_command_is_filled_in_word_by_word() -> None:
    plan = Plan(Path("/a data dir"), "::1", 9000, urls={"REDIS_URL": "unix:///x?db=0"})
    web, worker = (launch.of_part(BY_NAME[name], plan) for name in ("web", "worker-delivery"))
    assert web.argv[1:] == ["-m", "broker_project.web", "--host", "::1", "--port", "9000"]
    assert worker.argv[-2:] == ["-n", f"delivery-{plan.node}"]
    assert worker.environment["BROKER_DATA_DIR"] == "/a data dir"


def test_a_part_whose_package_is_not_there_is_left_out() -> None:
    reports = BY_NAME["worker-reports"]
    assert reports.is_installed
    assert not replace(reports, package="no_such_package").is_installed
    assert BY_NAME["web"].is_installed


def test_the_grpc_door_is_left_out_beside_a_gateway_that_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, grpc = Plan(Path("/d"), "127.0.0.1", 9000, urls={}), BY_NAME["grpc"]
    assert (grpc.is_installed, plan.environment()["GRPC_ADDRESS"]) == (True, "127.0.0.1:9003")
    monkeypatch.setenv("GATEWAY_SECRETS", "one")
    assert (grpc.is_installed, plan.environment()["GRPC_ADDRESS"]) == (False, "")
