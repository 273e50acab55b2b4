"""How the broker itself counts the demo's channels."""

from broker_project.demo.cast import CHANNELS
from broker_project.demo.desk import Desk


async def letters(desk: Desk) -> int:
    counts = (await desk.ask("GET", "/dlq-status"))["counts"]
    return sum(count for channel in CHANNELS for count in counts.get(channel.name, {}).values())


async def waiting(desk: Desk) -> int:
    told = [await desk.ask("GET", f"/channel/{channel.name}/messages-status") for channel in CHANNELS]
    return sum(one["counts"]["SCHEDULED"]["count"] for one in told)


async def in_flight(desk: Desk) -> int:
    counts = (await desk.ask("GET", "/job-status"))["counts"]
    jobs = [states for channel in CHANNELS for states in counts.get(channel.name, {}).values()]
    return sum(states.get("INFLIGHT", 0) for states in jobs)
