"""The Helm chart: valid by Kubernetes' own schemas, the same parts as on one machine, and closed where it can be."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import kubernetes_validate
import pytest
import yaml

from broker_project.cli.parts import BY_NAME
from tests.deploy.chart import CHART, EVERYTHING, Rendered, default, everything, helm, needs_helm, rendered
from tests.deploy.compose import OURS, PRODUCTION, words
from tests.deploy.knobs import read_knobs
from tests.deploy.proxy import PROXY, needs_nginx, proxying
from tests.deploy.tellers import telling
from tests.deploy.test_monitoring import ALERTS
from tests.deploy.test_production_compose import HALVES

pytestmark = needs_helm

OLDEST, NEWEST = "1.28", "1.34"
KNOBS = read_knobs()
# Kubernetes has no schema of the Prometheus operator's.
FOREIGN = {"ServiceMonitor"}
BOTH = pytest.mark.parametrize("chart", [default, everything], ids=["default", "everything"])


@BOTH
@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_what_is_rendered_is_valid_to_the_last_field(chart: Callable[[], Rendered], version: str) -> None:
    for resource in chart().resources:
        if resource["kind"] not in FOREIGN:
            kubernetes_validate.validate(resource, version, strict=True)


def test_helm_finds_nothing_to_complain_of() -> None:
    for done in (helm("lint", "--strict", CHART), helm("lint", "--strict", CHART, "-f", EVERYTHING)):
        assert done.returncode == 0, done.stdout


def test_everything_is_rendered_once_and_more_than_by_default() -> None:
    for chart in (default(), everything()):
        names = [(one["kind"], one["metadata"]["name"]) for one in chart.resources]
        assert len(names) == len(set(names))
    kinds = {one["kind"] for one in everything().resources} - {one["kind"] for one in default().resources}
    assert kinds == {"Secret", "Ingress", "NetworkPolicy", "HorizontalPodAutoscaler", "ServiceMonitor"}


def test_the_parts_are_those_of_compose_and_do_the_same() -> None:
    containers = everything().containers()
    spark = {"spark-master", "spark-worker"}
    assert containers.keys() == (PRODUCTION.keys() | OURS.keys()) - {"web", "postgres", "redis"} - spark
    for name in containers.keys() - {"proxy"}:
        assert containers[name]["command"] == words(PRODUCTION.get(name) or OURS[name])
    assert {name: _env(everything(), name)["WEB_SERVES"] for name in HALVES} == HALVES


def _env(chart: Rendered, name: str) -> dict[str, str]:
    return {one["name"]: one["value"] for one in chart.containers()[name]["env"]}


@BOTH
def test_every_knob_is_one_and_what_production_needs_is_there(chart: Callable[[], Rendered]) -> None:
    config = chart().all("ConfigMap")[""]["data"]
    assert config.keys() - {"DJANGO_SETTINGS_MODULE"} <= KNOBS.keys()
    for name in chart().containers().keys() - {"proxy"}:
        given = config.keys() | {one.removesuffix("_FILE") for one in _env(chart(), name)}
        assert {knob.name for knob in KNOBS.values() if knob.required} <= given


@BOTH
def test_a_secret_is_a_file_of_the_secret_and_stands_nowhere_else(chart: Callable[[], Rendered]) -> None:
    secrets = {name for name, knob in KNOBS.items() if knob.secret}
    for name in chart().containers().keys() - {"proxy"}:
        env = _env(chart(), name)
        assert secrets.isdisjoint(env)
        files = {one.removesuffix("_FILE"): path for one, path in env.items() if one.endswith("_FILE")}
        assert files == {one: f"/run/secrets/broker/{one.lower()}" for one in files}
        assert files.keys() <= secrets
    assert secrets.isdisjoint(chart().all("ConfigMap")[""]["data"])


def test_the_schema_lets_no_secret_into_the_knobs() -> None:
    kept_out = json.loads((CHART / "values.schema.json").read_text())["properties"]["config"]["propertyNames"]["not"]
    assert set(kept_out["enum"]) == {name for name, knob in KNOBS.items() if knob.secret}


@BOTH
def test_no_process_is_root_or_can_write_where_it_should_not(chart: Callable[[], Rendered]) -> None:
    for workload in (*chart().all("Deployment").values(), *chart().all("Job").values()):
        pod = workload["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        for container in (*pod["containers"], *pod.get("initContainers", [])):
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


@BOTH
def test_a_web_pod_is_asked_for_its_health_and_leaves_before_it_ends(chart: Callable[[], Rendered]) -> None:
    for name in HALVES:
        pod = chart().all("Deployment")[name]["spec"]["template"]["spec"]
        web = pod["containers"][0]
        assert web["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
        _, leaves = web["lifecycle"]["preStop"]["exec"]["command"]
        (_, stops), *_ = BY_NAME["web"].manners
        assert int(leaves) > web["readinessProbe"]["periodSeconds"] - 1
        assert pod["terminationGracePeriodSeconds"] >= int(leaves) + stops


@pytest.mark.parametrize("name", ["worker-dispatch", "worker-delivery", "worker-reports", "beat"])
def test_a_worker_is_asked_for_progress_and_given_time_to_end(name: str) -> None:
    pod = everything().all("Deployment")[name]["spec"]["template"]["spec"]
    row = name.removeprefix("worker-")
    worker = pod["containers"][0]
    assert worker["startupProbe"]["exec"]["command"][1:] == ["deploy/probe.py", "progress", row]
    assert worker["livenessProbe"]["exec"]["command"][1:] == ["deploy/probe.py", "moving", row]
    assert pod["terminationGracePeriodSeconds"] >= sum(seconds for _, seconds in BY_NAME[name].manners)


def test_reports_ask_for_less_than_delivery_does() -> None:
    def asks(name: str) -> int:
        cpu = everything().containers()[name]["resources"]["requests"]["cpu"]
        return int(cpu.removesuffix("m")) if cpu.endswith("m") else 1000 * int(cpu)

    assert asks("worker-reports") < asks("worker-delivery")


def test_there_is_never_a_second_beat() -> None:
    spec = default().all("Deployment")["beat"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_a_part_that_scales_by_itself_is_not_told_how_many() -> None:
    for name in ("web-doors", "worker-delivery"):
        assert "replicas" not in everything().all("Deployment")[name]["spec"]
        assert default().all("Deployment")[name]["spec"]["replicas"] == 2
    assert everything().all("HorizontalPodAutoscaler").keys() == {"web-doors", "worker-delivery"}


@BOTH
def test_whatever_names_a_part_finds_it(chart: Callable[[], Rendered]) -> None:
    pods = {**chart().all("Deployment"), **chart().all("Job")}
    labels = {name: one["spec"]["template"]["metadata"]["labels"] for name, one in pods.items()}
    for name, service in chart().all("Service").items():
        assert service["spec"]["selector"].items() <= labels[name].items()
        ports = {one["name"] for one in chart().containers()[name]["ports"]}
        assert {one["targetPort"] for one in service["spec"]["ports"]} <= ports
    for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        for name, one in chart().all(kind).items():
            assert one["spec"][key]["matchLabels"].items() <= labels[name].items()


def test_every_part_has_a_policy_and_web_hears_the_proxy_only() -> None:
    policies = everything().all("NetworkPolicy")
    assert policies.keys() == everything().containers().keys()
    for name in HALVES:
        (rule,) = policies[name]["spec"]["ingress"]
        proxy, monitoring = rule["from"]
        assert proxy["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == "proxy"
        assert "namespaceSelector" in monitoring
    assert {name for name, one in policies.items() if one["spec"]["ingress"]} == {*HALVES, "proxy", "grpc"}


def test_the_monitor_finds_web_and_gives_it_the_name_that_the_rules_ask_for() -> None:
    spec = everything().all("ServiceMonitor")[""]["spec"]
    service = everything().all("Service")["web-django"]
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    [endpoint] = spec["endpoints"]
    assert endpoint["port"] in {one["name"] for one in service["spec"]["ports"]}
    [asked] = re.findall(r'job="(\w+)"', ALERTS["BrokerDown"]["expr"])
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": asked}]


@BOTH
def test_the_proxy_has_the_table_and_names_that_are_there(chart: Callable[[], Rendered]) -> None:
    config = chart().all("ConfigMap")["proxy"]["data"]
    for name in ("nginx.conf", "broker.conf", "doors.conf"):
        assert config[name].strip() == (PROXY / name).read_text().strip()
    services = {one["metadata"]["name"]: one for one in chart().all("Service").values()}
    for name, port in re.findall(r"server ([\w-]+):(\d+)", config["upstreams.conf"]):
        assert int(port) in {one["port"] for one in services[name]["spec"]["ports"]}


@needs_nginx
@pytest.mark.parametrize(
    ("trusted", "believed"),
    [("10.0.0.0/8", ("127.0.0.1", "http", None)), ("127.0.0.0/8", ("8.8.8.8", "https", "max-age=31536000"))],
    ids=["from elsewhere", "from the Ingress"],
)
def test_the_proxy_believes_the_ingress_and_nobody_else(
    tmp_path_factory: pytest.TempPathFactory, trusted: str, believed: tuple[str, str, str | None]
) -> None:
    """The chart's own files in a real nginx."""
    files = rendered("--set", f"proxy.trusted={{{trusted}}}").all("ConfigMap")["proxy"]["data"]
    said = {"X-Forwarded-For": "8.8.8.8", "X-Forwarded-Proto": "https"}
    with telling("doors", "django") as ports, proxying(tmp_path_factory.mktemp("chart"), ports, files) as proxy:
        answer = httpx.post(f"http://127.0.0.1:{proxy.plain_port}/channel/c/broadcast", headers=said)
    told = {name.lower(): value for name, value in answer.json()["headers"]}
    only = (answer.headers.get("strict-transport-security") or "").partition(";")[0] or None
    assert answer.json()["by"] == "doors"
    assert (told["x-forwarded-for"], told["x-forwarded-proto"], only) == believed


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"hosts": []}, "hosts"),
        ({"doors": {"replica": 3}}, "replica"),
        ({"config": {"DATABASE_URL": "postgresql://open"}}, "config"),
        ({"leaveSeconds": 100}, "leaveSeconds"),
        ({"reports": {"enabled": True}}, "data.existingClaim"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(tmp_path: Path, values: object, complaint: str) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = helm("template", "demo", CHART, "-f", tmp_path / "values.yaml")
    assert done.returncode != 0
    assert complaint in done.stderr


def test_every_value_has_a_place_in_the_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values.keys() == schema["properties"].keys() - {"global"}


def test_the_charts_versions_are_the_brokers() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (CHART.parents[2] / "pyproject.toml").read_text()
