"""Every command of the guide is run, in its order, by somebody who has only the page; or is listed as not run."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.acceptance.receiver import Delivery, receiving
from tests.acceptance.running import SECONDS
from tests.acceptance.servers import ROOT, wait_until
from tests.docs.blocks import Block, blocks_of, pages
from tests.docs.reader import Reader, reading

TUTORIAL = "docs/tutorial.md"
START, *STEPS, STOP = [block for block in blocks_of(TUTORIAL) if block.language == "sh"]

# In this order: some name what the tutorial made.
FOLLOWED = (
    "README.md",
    "docs/how-to/signatures.md",
    "docs/how-to/from-webhook-broker.md",
    "docs/how-to/from-celery.md",
    "docs/how-to/from-dapr.md",
    "docs/registry.md",
    "docs/scheduling.md",
    "docs/pull.md",
    "docs/dead-letters.md",
    "docs/alerts.md",
)
# These have a test of their own, which knows what their consumers get.
TRIED_ELSEWHERE = {
    "docs/dapr.md": "tests/acceptance/test_dapr_docs.py",
    "docs/dapr-jobs.md": "tests/acceptance/test_dapr_jobs_docs.py",
    "docs/dapr-grpc.md": "tests/acceptance/test_dapr_grpc_docs.py",
    "docs/querator.md": "tests/acceptance/test_querator.py",
    "docs/queue.md": "tests/acceptance/test_queue_docs.py",
}
# Blocks that are not run here, by page: how many, and why.
NOT_RUN = {
    "README.md": (2, "the first would run these tests, the other needs Docker"),
    "CONTRIBUTING.md": (1, "would run these tests"),
    "docs/benchmarks.md": (1, "takes long; tests/benchmarks runs each scenario small"),
    "docs/chaos.md": (1, "would run tests/chaos, which runs by itself"),
    "docs/demo.md": (1, "goes on until it is stopped; tests/acceptance/test_demo_browser.py runs it"),
    "docs/explorer.md": (1, "names tokens that the reader has; tests/watch_app runs the commands that the page writes"),
    "docs/lake.md": (1, "tests/spark_analytics runs each of them"),
    "docs/monitoring.md": (1, "needs Docker"),
    "docs/production.md": (3, "need Docker"),
    "docs/reports.md": (1, "the tutorial makes a report; tests/acceptance/test_report_browser.py opens one"),
    "docs/retention.md": (2, "a million messages; tests/reports_app runs both commands"),
    "docs/tutorial.md": (1, "goes on until it is stopped; tests/acceptance/test_demo_browser.py runs it"),
    "docs/spark-cluster.md": (2, "need a Spark cluster, or Kubernetes"),
}
# Commands begin like this wherever they stand.
COMMANDS = ("./broker ", "curl ", "docker ", "kubectl ", "helm ", "spark-submit ", "git clone ", "pip install ")


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    """One broker for all pages: the one that the tutorial starts."""
    with reading() as made:
        made.follow(START)
        made.run("export API_KEY=$(./broker key --name reader | tail -n 1)")
        yield made


def test_the_tutorial_leads_from_nothing_to_a_report(reader: Reader) -> None:
    for block in STEPS:
        reader.follow(block)
    assert (reader.place / "my-report" / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize("page", FOLLOWED)
def test_the_commands_of_a_page_do_what_it_says(reader: Reader, page: str) -> None:
    for block in blocks_of(page):
        if block.language == "sh":
            reader.follow(block)


@dataclass(frozen=True)
class Language:
    tool: str
    words: tuple[str, ...]


LANGUAGES = {
    "verify.py": Language("python3", ("python3",)),
    "verify.mjs": Language("node", ("node",)),
    "verify.go": Language("go", ("go", "run")),
    "verify.rb": Language("ruby", ("ruby",)),
    "verify.php": Language("php", ("php",)),
    "Verify.java": Language("javac", ("java",)),
}


@pytest.fixture(scope="module")
def signed(reader: Reader) -> tuple[str, Delivery]:
    """The secret of a consumer, and what it was really sent while its secret was being rotated."""
    with receiving() as receiver:
        reader.run(REGISTERED.format(url=receiver.url))
        wait_until(lambda: receiver.deliveries != [], SECONDS)
        return (reader.place / "secret").read_text().strip(), receiver.deliveries[0]


REGISTERED = """
at=http://127.0.0.1:8000/channel/sample-channel/consumer/languages
key="Authorization: Bearer $API_KEY"
curl -fsS -o /dev/null -X PUT $at -H "$key" -d callbackUrl={url}
curl -fsS -X POST $at/rotate-secret -H "$key" |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["signingSecret"])' > secret
curl -fsS http://127.0.0.1:8000/channel/sample-channel/broadcast -H 'X-Broker-Channel-Token: sample-channel-token' \\
  -H 'X-Broker-Producer-ID: sample-producer' -H 'X-Broker-Producer-Token: sample-producer-token' -d 'Grüße, signed'
"""


@pytest.mark.parametrize("file", LANGUAGES)
def test_a_snippet_tells_a_real_delivery_from_a_changed_and_an_old_one(signed: tuple[str, Delivery], file: str) -> None:
    secret, delivery = signed
    if shutil.which(LANGUAGES[file].tool) is None:
        pytest.skip(f"no {LANGUAGES[file].tool} found to run docs/snippets/{file}")
    assert len(delivery.headers["webhook-signature"].split(" ")) == 2
    assert says(file, secret, delivery.headers, delivery.body) == (0, "genuine")
    assert says(file, secret, delivery.headers, delivery.body + b" ") == (1, "forged or old")
    old = {**delivery.headers, "webhook-timestamp": str(int(delivery.headers["webhook-timestamp"]) - 3600)}
    assert says(file, secret, old, delivery.body) == (1, "forged or old")


def says(file: str, secret: str, headers: dict[str, str], body: bytes) -> tuple[int, str]:
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    words = [*LANGUAGES[file].words, str(ROOT / "docs" / "snippets" / file), *(headers[name] for name in names)]
    environment = {"WEBHOOK_SECRET": secret, "PATH": path_of(LANGUAGES[file].tool), "HOME": str(Path.home())}
    done = subprocess.run(words, env=environment, input=body, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout.decode().strip()


def path_of(tool: str) -> str:
    return f"{Path(shutil.which(tool) or tool).parent}:/usr/local/bin:/usr/bin:/bin"


def test_the_tutorial_stops_what_it_started(reader: Reader) -> None:
    reader.follow(STOP)
    assert reader.broker.call("status").returncode == 3
    assert reader.broker.open_ports() == []


def test_each_page_with_commands_is_followed_or_has_a_test_of_its_own() -> None:
    with_commands = {page for page in pages() if any(block.language == "sh" for block in blocks_of(page))}
    assert with_commands == {TUTORIAL, *FOLLOWED, *TRIED_ELSEWHERE}
    for page, test in TRIED_ELSEWHERE.items():
        assert Path(page).name in (ROOT / test).read_text()


def test_what_is_not_run_is_listed_with_the_reason() -> None:
    marked = {page: sum(block.language == "console" for block in blocks_of(page)) for page in pages()}
    assert {page: count for page, count in marked.items() if count} == {
        page: count for page, (count, _) in NOT_RUN.items()
    }


def test_no_command_hides_in_a_block_of_another_kind() -> None:
    hidden = [block for page in pages() for block in blocks_of(page) if hides_a_command(block)]
    assert hidden == []


def hides_a_command(block: Block) -> bool:
    return block.language not in ("sh", "console") and any(
        line.strip().startswith(COMMANDS) for line in block.text.splitlines()
    )
