"""docker-compose.yml names nothing that the code does not have: no Docker engine is needed to see it."""

from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import settings
from django.core.management import get_commands

from broker_project.cli.parts import PARTS, WORKS
from tests.deploy.compose import COMPOSE, OURS, SERVICES, WORKERS, Service, option, words
from tests.deploy.knobs import TOP, read_knobs

KNOBS = read_knobs()
# Read before any settings are.
SETTINGS_MODULE = "DJANGO_SETTINGS_MODULE"
QUEUES = {settings.CELERY_TASK_DEFAULT_QUEUE} | {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
# The echo receiver is there to try the broker out; databases have images of their own.
PROCESSES = {part.name: part.command.split()[1:] for part in PARTS if part.command and part.name != "echo"}
# A second of a kind is the same service, scaled.
SECONDS = {name.removesuffix("-2"): name for name in PROCESSES if name.endswith("-2")}
KINDS = {name: command for name, command in PROCESSES.items() if name not in SECONDS.values()}


def each(services: dict[str, Service]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("service", services.values(), ids=services)


def _with(key: str) -> dict[str, Service]:
    return {name: service for name, service in SERVICES.items() if key in service}


@each(OURS)
def test_a_command_starts_something_that_exists(service: Service) -> None:
    match words(service):
        case ["python", "-m", module, *_]:
            assert find_spec(module)
        case ["python", "manage.py", command, *_]:
            assert (TOP / "manage.py").exists()
            assert command in get_commands()
        case ["celery", "-A", package, "worker" | "beat", *_]:
            assert find_spec(f"{package}.celery")
        case ["spark-class", java_class, *_]:
            assert f"{java_class.replace('.', '/')}.class" in _spark_classes()
        case other:
            pytest.fail(f"nobody knows {other}")


def _spark_classes() -> list[str]:
    spark = find_spec("pyspark")
    assert spark
    assert spark.origin
    (jar,) = (Path(spark.origin).parent / "jars").glob("spark-core_*.jar")
    return ZipFile(jar).namelist()


def test_the_broker_has_the_same_processes_as_on_one_machine() -> None:
    ours = {name: words(service) for name, service in OURS.items()}
    there = {name: _essence(ours[name]) for name in ours.keys() & KINDS.keys()}
    assert there == {name: _essence(command) for name, command in KINDS.items()}
    assert {name for name, service in OURS.items() if service.get("scale") == 2} == SECONDS.keys()


def _essence(command: list[str]) -> tuple[str, str | None, str | None]:
    """The program, its Celery application and its queue; addresses and names differ by right."""
    program = command[2] if command[:2] == ["python", "-m"] else command[0]
    return program, option(command, "-A"), option(command, "-Q")


def test_every_queue_has_a_worker_and_every_worker_a_queue() -> None:
    assert {option(words(service), "-Q") for service in WORKERS.values()} == QUEUES


@each(WORKERS)
def test_a_worker_works_as_on_one_machine(service: Service) -> None:
    assert set(WORKS.split()) <= set(words(service))
    assert option(words(service), "-P") == "threads"


@each(WORKERS)
def test_a_worker_can_be_scaled(service: Service) -> None:
    """Two containers cannot share a name or a port, and two workers cannot share a node name."""
    assert service.keys().isdisjoint({"container_name", "ports", "hostname"})
    assert (option(words(service), "-n") or "").endswith("@%h")


@each({name: service for name, service in OURS.items() if "environment" in service})
def test_an_environment_variable_is_a_knob(service: Service) -> None:
    assert service["environment"].keys() <= KNOBS.keys() | {SETTINGS_MODULE}
    assert find_spec(service["environment"][SETTINGS_MODULE])


@each({name: service for name, service in OURS.items() if "environment" in service})
def test_compose_refuses_to_start_without_what_production_needs(service: Service) -> None:
    needed = {name for name, knob in KNOBS.items() if knob.required}
    asked = {name for name, value in service["environment"].items() if value.startswith(f"${{{name}:?")}
    assert asked == needed


@each(_with("ports"))
def test_a_port_is_published_on_loopback_only(service: Service) -> None:
    for published in service["ports"]:
        assert published.startswith("127.0.0.1:"), "a proxy that ends TLS belongs in between"


@each({name: service for name, service in _with("ports").items() if name in OURS})
def test_a_published_port_is_one_that_the_command_listens_on(service: Service) -> None:
    listens = {word.rpartition("=")[2] for word in words(service)}
    assert {published.split(":")[2] for published in service["ports"]} <= listens


@each(_with("depends_on"))
def test_a_service_waits_for_one_that_gets_there(service: Service) -> None:
    for name, wait in service["depends_on"].items():
        if wait["condition"] == "service_completed_successfully":
            assert SERVICES[name]["restart"] == "no"
        else:
            assert wait["condition"] == "service_healthy"
            assert SERVICES[name]["healthcheck"]["test"]


def test_every_process_waits_for_the_tables() -> None:
    waiting = {name for name, service in OURS.items() if "prepare" in service.get("depends_on", {})}
    assert waiting == KINDS.keys()


def test_every_volume_is_declared_and_used() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert {name for name in used if not name.startswith("./")} == COMPOSE["volumes"].keys()


@each({name: service for name, service in OURS.items() if "environment" in service})
def test_the_data_directory_is_on_a_volume(service: Service) -> None:
    assert service["environment"]["BROKER_DATA_DIR"] in {volume.partition(":")[2] for volume in service["volumes"]}


@each({name: service for name, service in SERVICES.items() if name != "prepare"})
def test_a_service_comes_back_after_a_crash(service: Service) -> None:
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize(("name", "password"), [("postgres", "POSTGRES_PASSWORD"), ("redis", "REDISCLI_AUTH")])
def test_the_databases_start_with_a_password_and_no_published_port(name: str, password: str) -> None:
    assert ":?" in SERVICES[name]["environment"][password]
    assert "ports" not in SERVICES[name]
