"""What is given to Prometheus and Grafana speaks of metrics that there are, by labels that they have."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser
import pytest
import yaml

from channels_app.metrics import catalogue as core
from channels_app.metrics.catalogue import Described
from dlq_app.metrics import catalogue as dead_letters
from scheduling_app.metrics import catalogue as scheduling
from tests.deploy.compose import SERVICES
from tests.deploy.knobs import TOP
from watch_app.metrics import catalogue as watch

DEPLOY = TOP / "deploy"
RULES_FILE = DEPLOY / "prometheus" / "rules.yml"
GROUPS: list[dict[str, Any]] = yaml.safe_load(RULES_FILE.read_text())["groups"]
RULES: list[dict[str, Any]] = [rule for group in GROUPS for rule in group["rules"]]
RECORDED = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
ALERTS = {rule["alert"]: rule for rule in RULES if "alert" in rule}
BOARD: dict[str, Any] = json.loads((DEPLOY / "grafana" / "broker.json").read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]
DRAWN = {panel["title"]: panel for panel in PANELS if panel["type"] != "row"}
# Documented by the scrape itself, or added by whoever scrapes.
OF_THE_SCRAPE = {"broker_build_info": {"version"}, "broker_scrape_errors": {"source"}, "up": set()}
SCRAPER_LABELS = {"job", "instance"}
# Of numbers that several processes tell alike these take one; a sum would count it as often as it is told.
ONE_OF_MANY = {"max", "min"}
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")

_ROW = re.compile(r"^\| `(broker_\w+)` \| (\w+) \|([^|]*)\|", re.MULTILINE)
DOCUMENTED = {
    name: (kind, set(re.findall(r"\w+", labels)))
    for name, kind, labels in _ROW.findall((TOP / "docs" / "metrics.md").read_text())
}


@dataclass(frozen=True)
class Asked:
    """A metric that an expression reads, with the labels that it is chosen by."""

    name: str
    labels: frozenset[str]


def catalogued() -> dict[str, set[str]]:
    modules = (core, scheduling, dead_letters, watch)
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Described)]
    return {one.name: set(one.labels) for one in found} | OF_THE_SCRAPE


def series() -> dict[str, set[str]]:
    """Every name that can be asked for, with its labels: a histogram has three, and recorded ones are of ours."""
    known: dict[str, set[str]] = {}
    for name, labels in catalogued().items():
        if DOCUMENTED.get(name, ("", set()))[0] == "histogram":
            known |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
        else:
            known[name] = labels
    for name, expression in RECORDED.items():
        known[name] = set(outer_labels(expression))
    return known


def outer_labels(expression: str) -> list[str]:
    """The labels that are left: recorded ones begin with theirs, channel_outcome:…"""
    found = re.search(r"by \(([^)]*)\)", expression)
    assert found, expression
    return [label.strip() for label in found[1].split(",") if label.strip() != "le"]


def read(expression: str) -> tuple[set[Asked], set[str]]:
    """The metrics that an expression asks for, and the labels that it groups by. Variables of Grafana are put in."""
    for variable, value in {"$__rate_interval": "5m", "$channel": ".*", "$consumer": ".*"}.items():
        expression = expression.replace(variable, value)
    asked: set[Asked] = set()

    def look(node: promql_parser.Expr) -> None:
        if selector := _selector(node):
            matchers = selector.matchers.matchers
            asked.add(Asked(str(selector.name), frozenset(matcher.name for matcher in matchers)))

    promql_parser.walk(promql_parser.parse(expression), look)
    grouped = re.findall(r"(?:by|on|without|ignoring) ?\(([^)]*)\)", expression)
    return asked, {label.strip() for labels in grouped for label in labels.split(",")}


def _selector(node: promql_parser.Expr) -> promql_parser.VectorSelector | None:
    selector = node.vector_selector if isinstance(node, promql_parser.MatrixSelector) else node
    return selector if isinstance(selector, promql_parser.VectorSelector) else None


def gathered(expression: str) -> list[tuple[str, list[promql_parser.AggregateExpr]]]:
    """The metrics that an expression asks for, from left to right, each with what gathers it, the outermost first."""
    found: list[tuple[str, list[promql_parser.AggregateExpr]]] = []
    around: list[promql_parser.AggregateExpr] = []

    def enter(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.AggregateExpr):
            around.append(node)
        elif selector := _selector(node):
            found.append((str(selector.name), [*around]))

    def leave(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.AggregateExpr):
            around.pop()

    promql_parser.walk(promql_parser.parse(expression.replace("$__rate_interval", "5m")), enter, leave)
    return found


def kept(gathering: promql_parser.AggregateExpr) -> set[str]:
    return set(gathering.modifier.labels) if gathering.modifier else set()


def left(expression: str) -> set[str]:
    """The labels of its result: what its first metric is gathered by at last. topk takes none away."""
    name, around = gathered(expression)[0]
    for gathering in around:
        if str(gathering.op) != "topk":
            return kept(gathering)
    return series()[name] | SCRAPER_LABELS


def expressions() -> Iterator[Any]:
    for rule in RULES:
        yield pytest.param(rule["expr"], id=rule.get("alert") or rule["record"])
    for panel in DRAWN.values():
        for target in panel["targets"]:
            yield pytest.param(target["expr"], id=f"{panel['title']} {target['refId']}")


@pytest.mark.parametrize("expression", list(expressions()))
def test_an_expression_asks_for_metrics_that_there_are_by_labels_that_they_have(expression: str) -> None:
    known = series()
    asked, grouped = read(expression)
    assert asked
    for one in asked:
        assert one.name in known
        assert one.labels <= known[one.name] | SCRAPER_LABELS, one.name
    assert grouped <= set().union(*(known[one.name] for one in asked)) | SCRAPER_LABELS


@pytest.mark.parametrize("expression", list(expressions()))
def test_a_number_that_several_web_processes_tell_counts_once(expression: str) -> None:
    known = series()
    for name, around in gathered(expression):
        if name in RECORDED.keys() | {"up"}:
            continue
        assert around, f"{name} is told by each"
        *further, first = around
        assert str(first.op) in ONE_OF_MANY, name
        is_the_largest = not further and DOCUMENTED.get(name, ("", set()))[0] == "gauge"
        assert kept(first) == known[name] or is_the_largest, name


@pytest.mark.parametrize("panel", DRAWN.values(), ids=DRAWN)
def test_the_names_beside_lines_are_labels_that_are_left(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        named = set(re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")))
        assert named <= left(target["expr"])


def test_every_metric_is_drawn() -> None:
    drawn = {one.name for panel in DRAWN.values() for target in panel["targets"] for one in read(target["expr"])[0]}
    through_rules = {one.name for name in drawn & RECORDED.keys() for one in read(RECORDED[name])[0]}
    missing = {
        name for name in catalogued() if not any(one.startswith(name) for one in drawn | through_rules) and name != "up"
    }
    assert missing == set()


def test_the_documents_name_each_metric_with_its_labels() -> None:
    told = {name: labels for name, (_, labels) in DOCUMENTED.items()}
    assert told == {name: labels for name, labels in catalogued().items() if name != "up"}


@pytest.mark.parametrize("rule", ALERTS.values(), ids=ALERTS)
def test_an_alert_says_what_it_is_and_how_bad(rule: dict[str, Any]) -> None:
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
    assert rule["labels"]["severity"] in ("warning", "critical")
    named = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
    assert named <= left(rule["expr"])


def test_the_names_of_rules_are_unique() -> None:
    names = [rule.get("alert") or rule["record"] for rule in RULES]
    assert len(names) == len(set(names))


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool found: set PROMTOOL, or install Prometheus")
def test_promtool_finds_no_fault() -> None:
    done = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(RULES_FILE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_reads_the_rules_and_scrapes_a_web_process() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    assert config["rule_files"] == [RULES_FILE.name]
    [job] = config["scrape_configs"]
    assert (job["job_name"], job["metrics_path"]) == ("broker", "/metrics")
    host, port = job["static_configs"][0]["targets"][0].split(":")
    assert f"--port {port}" in SERVICES[host]["command"] or f"--port={port}" in SERVICES[host]["command"]


def test_panels_have_ids_and_titles_of_their_own_and_do_not_overlap() -> None:
    for key in ("id", "title"):
        values = [panel[key] for panel in PANELS]
        assert len(values) == len(set(values))
    cells = [cell for panel in PANELS for cell in _cells(panel["gridPos"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def _cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            yield x, y


def test_the_dashboard_is_asked_where_its_numbers_are_and_of_whom() -> None:
    variables = {one["name"]: one for one in BOARD["templating"]["list"]}
    assert list(variables) == ["datasource", "channel", "consumer"]
    assert variables["datasource"]["query"] == "prometheus"
    sources = [panel["datasource"] for panel in DRAWN.values()]
    sources += [target["datasource"] for panel in DRAWN.values() for target in panel["targets"]]
    assert {source["uid"] for source in sources} == {"${datasource}"}
    for name in ("channel", "consumer"):
        metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variables[name]["definition"]).groups()  # type: ignore[union-attr]
        assert label == name
        assert label in series()[metric.partition("{")[0]]


def test_there_is_a_row_for_each_topic() -> None:
    rows = [panel["title"] for panel in PANELS if panel["type"] == "row"]
    assert rows == ["Now", "Traffic", "Delivery", "Latency", "Schedule", "Dead letters", "Consumers", "Engine"]


@pytest.mark.parametrize("name", ["prometheus", "grafana"])
def test_a_service_of_the_profile_is_pinned_and_finds_its_files(name: str) -> None:
    service = SERVICES[name]
    assert service["profiles"] == ["monitoring"]
    assert re.fullmatch(r"\S+:v?\d+\.\d+\.\d+", service["image"])
    mounted = {volume.split(":")[0] for volume in service["volumes"] if volume.startswith("./")}
    # The key is made by whoever runs it.
    for path in mounted - {"./deploy/prometheus/key"}:
        assert (TOP / path).exists()


def test_grafana_finds_its_prometheus() -> None:
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    boards = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/broker.yml").read_text())
    place = boards["providers"][0]["options"]["path"]
    assert f"./deploy/grafana/broker.json:{place}/broker.json:ro" in SERVICES["grafana"]["volumes"]
