"""The OpenAPI document and the API say the same."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.acceptance.servers import Broker

CONFIG = Path(__file__).parent / "schemathesis.toml"


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    return broker.serve(MANAGEMENT_RATE_PER_SECOND="0", REFUSALS_PER_MINUTE="0")


def test_schemathesis_finds_no_500_and_nothing_that_the_document_does_not_say(
    web: httpx.Client, tmp_path: Path
) -> None:
    command = [
        *(
            sys.executable,
            "-m",
            "schemathesis.cli",
            "--config-file",
            str(CONFIG),
            "run",
            f"{web.base_url}/openapi.json",
        ),
        *("--header", f"Authorization: {web.headers['Authorization']}"),
        *("--header", f"dapr-api-token: {web.headers['Authorization'].removeprefix('Bearer ')}"),
        *("--max-examples", "30", "--seed", "20", "--generation-database", "none", "--no-color"),
        # A precondition on a state that a generator cannot know is rightly refused.
        *("--exclude-checks", "positive_data_acceptance", "--warnings", "off"),
        # Without workers, as here, a strict /readyz is rightly 503.
        *("--exclude-path", "/readyz"),
    ]

    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert run.returncode == 0, run.stdout[-6000:]
    paths = httpx.get(f"{web.base_url}/openapi.json").json()["paths"]
    operations = sum(len(methods) for path, methods in paths.items() if path != "/readyz")
    assert f"Tested: {operations}" in run.stdout


def test_the_document_is_open_and_names_every_address(web: httpx.Client) -> None:
    document = httpx.get(f"{web.base_url}/openapi.json").json()

    assert document["openapi"] == "3.1.0"
    assert set(document["paths"]) == {
        "/_status",
        "/healthz",
        "/readyz",
        "/metrics",
        "/alerts",
        "/producers",
        "/producer/{producer_id}",
        "/channels",
        "/channel/{channel_id}",
        "/channel/{channel_id}/broadcast",
        "/channel/{channel_id}/broadcast/batch",
        "/channel/{channel_id}/consumers",
        "/channel/{channel_id}/message/{message_id}",
        "/channel/{channel_id}/messages",
        "/channel/{channel_id}/messages-status",
        "/job-status",
        "/channel/{channel_id}/consumer/{consumer_id}",
        "/channel/{channel_id}/task/{message_id}",
        "/channel/{channel_id}/consumer/{consumer_id}/acks",
        "/channel/{channel_id}/consumer/{consumer_id}/extend",
        "/channel/{channel_id}/consumer/{consumer_id}/job/{job_id}",
        "/channel/{channel_id}/consumer/{consumer_id}/queued-jobs",
        "/channel/{channel_id}/consumer/{consumer_id}/lease",
        "/channel/{channel_id}/consumer/{consumer_id}/poll",
        "/channel/{channel_id}/consumer/{consumer_id}/message-at/{index}",
        "/channel/{channel_id}/consumer/{consumer_id}/ack",
        "/channel/{channel_id}/consumer/{consumer_id}/seek",
        "/channel/{channel_id}/consumer/{consumer_id}/pause",
        "/channel/{channel_id}/dead-letter-policy",
        "/channel/{channel_id}/consumer/{consumer_id}/resume",
        "/channel/{channel_id}/consumer/{consumer_id}/rotate-secret",
        "/channel/{channel_id}/pause",
        "/channel/{channel_id}/resume",
        "/channel/{channel_id}/scheduled-messages",
        "/channel/{channel_id}/scheduled-messages/cancel",
        "/channel/{channel_id}/scheduled-messages/reschedule",
        "/channel/{channel_id}/scheduled-message/{message_id}",
        "/channel/{channel_id}/scheduled-message/{message_id}/dispatch-now",
        "/channel/{channel_id}/scheduled-partitions",
        "/channel/{channel_id}/schedules",
        "/channel/{channel_id}/schedule/{schedule_id}",
        "/channel/{channel_id}/schedule/{schedule_id}/pause",
        "/channel/{channel_id}/schedule/{schedule_id}/resume",
        "/channel/{channel_id}/schedule/{schedule_id}/preview",
        "/channel/{channel_id}/consumer/{consumer_id}/dlq",
        "/channel/{channel_id}/consumer/{consumer_id}/job/{job_id}/requeue-dead-job",
        "/dlq-status",
        "/dead-letters",
        "/dead-letters/causes",
        "/dead-letters/export",
        "/dead-letters/requeue",
        "/dead-letters/discard",
        "/dead-letters/{job_id}",
        "/dead-letters/{job_id}/edit",
        "/dead-letters/redrive",
        "/channel/{channel_id}/consumer/{consumer_id}/replay",
        "/channel/{channel_id}/consumer/{consumer_id}/deliver-missed",
        "/v1.0/publish/{pubsub}/{topic}",
        "/v1.0/publish/bulk/{pubsub}/{topic}",
        "/v1.0/jobs/{name}",
        "/v1.0/delayed/{listing}",
        "/v1.0/delayed/{listing}/take",
        "/v1.0/healthz/outbound",
        "/v1.0/metadata",
        "/v1/queues.create",
        "/v1/queues.list",
        "/v1/queues.info",
        "/v1/queues.update",
        "/v1/queues.delete",
        "/v1/queue.produce",
        "/v1/queue.lease",
        "/v1/queue.complete",
        "/v1/queue.retry",
        "/v1/queue.stats",
        "/v1/queue.clear",
        "/v1/storage/items.list",
        "/v1/storage/scheduled.list",
        "/v1/queue/create",
        "/v1/publish",
        "/v1/subscribe/register",
        "/v1/subscribe/poll",
        "/v1/subscribe/message/ack",
        "/operations",
        "/operations/{operation_id}",
        "/operations/{operation_id}/stop",
        "/operations/{operation_id}/resume",
    }


def test_the_doors_of_other_systems_have_tags_of_their_own(web: httpx.Client) -> None:
    paths = httpx.get(f"{web.base_url}/openapi.json").json()["paths"]
    tagged = {path: {tag for one in methods.values() for tag in one["tags"]} for path, methods in paths.items()}

    for path, tags in tagged.items():
        assert ("Dapr" in tags) == path.startswith("/v1.0/"), path
        assert ("Querator" in tags) == bool(re.match(r"/v1/(queue|queues|storage/\w+)\.", path)), path
        assert ("polled queue" in tags) == bool(re.match(r"/v1/(queue/|publish|subscribe/)", path)), path


def test_the_browsable_page_needs_nothing_from_outside(web: httpx.Client) -> None:
    page = httpx.get(f"{web.base_url}/docs")

    assert page.status_code == 200
    assert "swagger-ui" in page.text
    assert "//cdn" not in page.text
