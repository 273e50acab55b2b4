"""From a consumer that fails to a letter, and from the letter to the consumer once it is mended; with real workers."""

import json
from typing import Any

import httpx

from tests.acceptance.engine import Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

QUICK = {"retryPolicy": {"retries": 3, "initialSeconds": 0.05, "factor": 1}}


def dead_letters(channel: Channel) -> list[dict[str, Any]]:
    return list(channel.web.get(f"/dead-letters?channel={channel.name}").json()["result"])


def count(channel: Channel) -> int:
    counts = channel.web.get("/dlq-status").json()["counts"]
    return int(counts.get(channel.name, {}).get("k", 0))


def failing(engine: Engine, receiver: Receiver) -> Channel:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, **QUICK)
    # A breaker would hold back what the case is about.
    channel.change_consumer(circuitBreaker=False)
    return channel


def test_four_failures_make_a_letter_and_the_mended_consumer_gets_it(engine: Engine, receiver: Receiver) -> None:
    channel = failing(engine, receiver)
    location = channel.publish(b"hello").headers["Location"]
    wait_until(lambda: bool(dead_letters(channel)), 30)

    [letter] = dead_letters(channel)
    story = channel.web.get(letter["letterUrl"]).json()
    assert [(one["statusCode"], one["reason"], one["answer"]) for one in story["tries"]] == [
        (500, "http_5xx", "heard")
    ] * 4
    assert (letter["attempts"], letter["error"], count(channel)) == (4, "HTTP 500: heard", 1)
    [job] = channel.web.get(f"/channel/{channel.name}/consumer/k/dlq").json()["deadJobs"]

    receiver.answer = lambda _delivery: 200
    asked = channel.web.post(job["jobRequeueUrl"], json={"note": "mended"})

    assert (asked.status_code, asked.json()["failures"]) == (202, 0)
    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 30)
    assert (dead_letters(channel), count(channel)) == ([], 0)
    resolved = channel.web.get(letter["letterUrl"]).json()
    assert (resolved["resolution"], resolved["note"], len(resolved["tries"])) == ("requeued", "mended", 5)


def test_what_dies_again_is_the_same_letter_and_its_attempts_go_on(engine: Engine, receiver: Receiver) -> None:
    channel = failing(engine, receiver)
    channel.publish(b"hello")
    wait_until(lambda: bool(dead_letters(channel)), 30)

    consumer = f"/channel/{channel.name}/consumer/k"
    asked = httpx.post(f"{channel.web.base_url}{consumer}/dlq", data={"requeue": "mine"})
    assert (asked.status_code, asked.json()["requeuedCount"]) == (202, 1)
    wait_until(lambda: bool(dead_letters(channel)), 30)

    [letter] = dead_letters(channel)
    assert (letter["attempts"], letter["times"], count(channel)) == (8, 2, 1)
    history = channel.web.get(letter["letterUrl"]).json()["history"]
    assert [(act["act"], act["by"]) for act in history] == [
        ("entered", ""),
        ("requeued", f"consumer k of {channel.name}"),
        ("entered", ""),
    ]
    assert channel.web.delete(f"{consumer}/dlq").json()["deletedCount"] == 1
    assert (dead_letters(channel), count(channel)) == ([], 0)


def test_a_letter_that_was_edited_arrives_with_its_new_content(engine: Engine, receiver: Receiver) -> None:
    channel = failing(engine, receiver)
    receiver.answer = lambda delivery: 200 if delivery.body == b'{"amount": 5}' else 422
    channel.publish(b'{"amount": "five"}', Message_ID="m-1")
    wait_until(lambda: bool(dead_letters(channel)), 30)

    [letter] = dead_letters(channel)
    edited = channel.web.post(
        f"{letter['letterUrl']}/edit", json={"payload": '{"amount": 5}', "headers": {"X-Mended": "yes"}}
    )

    assert edited.status_code == 201, edited.text
    wait_until(lambda: channel.statuses(edited.headers["Location"]) == ["DELIVERED"], 30)
    [delivery] = receiver.of(edited.json()["messageId"])
    assert (delivery.body, delivery.headers["x-mended"]) == (b'{"amount": 5}', "yes")
    assert channel.read(f"/channel/{channel.name}/message/m-1")["payload"] == '{"amount": "five"}'


def test_an_export_is_streamed_and_a_job_is_deleted_beside_its_door(engine: Engine, receiver: Receiver) -> None:
    channel = failing(engine, receiver)
    for _ in range(3):
        channel.publish(b"hello")
    wait_until(lambda: len(dead_letters(channel)) == 3, 30)

    with channel.web.stream("GET", f"/dead-letters/export?channel={channel.name}&payload=true") as answer:
        exported = [json.loads(line) for line in answer.iter_lines()]

    assert [line["message"]["payload"] for line in exported] == ["hello"] * 3
    job = f"/channel/{channel.name}/consumer/k/job/{exported[0]['jobId']}"
    assert channel.web.delete(job).status_code == 204
    assert channel.web.get(job).json()["status"] == "DEAD"
    assert count(channel) == 2
