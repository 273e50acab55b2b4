from pathlib import Path

from broker_project.cli import launch
from broker_project.cli.parts import BY_NAME, PARTS
from broker_project.cli.plan import Plan


def test_work_stops_coming_before_the_workers_stop_and_the_data_goes_last() -> None:
    order = [part.name for part in sorted(PARTS, key=lambda part: part.stops)]
    assert set(order[:3]) == {"beat", "web", "flower"}
    assert set(order[3:6]) == {"worker-dispatch", "worker-delivery", "worker-delivery-2"}
    assert order[6:] == ["echo", "redis", "postgres"]


def test_a_command_is_filled_in_word_by_word() -> None:
    plan = Plan(Path("/a data dir"), "::1", 9000, urls={"REDIS_URL": "unix:///x?db=0"})
    web, worker = (launch.of_part(BY_NAME[name], plan) for name in ("web", "worker-delivery"))
    assert web.argv[1:] == ["-m", "broker_project.web", "--host", "::1", "--port", "9000"]
    assert worker.argv[-2:] == ["-n", f"delivery-{plan.node}"]
    assert worker.environment["BROKER_DATA_DIR"] == "/a data dir"
