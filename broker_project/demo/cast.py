"""Who plays: the channels, producers, consumers and schedules of the demo. All ids begin with demo-."""

from dataclasses import dataclass, field
from typing import Any

# Nobody listens there.
NOBODY = "http://127.0.0.1:1"

PRODUCERS = {
    "demo-shop": "Web shop",
    "demo-website": "Website",
    "demo-sensors": "Sensors",
    "demo-assistant": "Assistant",
    "demo-cron": "Small jobs",
}


@dataclass(frozen=True)
class Consumer:
    """A push consumer is known by its manner: how the receiver answers it. One without asks for its jobs itself."""

    name: str
    manner: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    def document(self, channel: str, receiver: str) -> dict[str, Any]:
        """What it is registered with."""
        if not self.manner:
            return {"type": "pull", **self.settings}
        base = NOBODY if self.manner == "nobody" else receiver
        return {"callback_url": f"{base}/{self.manner}/{channel}/{self.name}", **self.settings}


@dataclass(frozen=True)
class Channel:
    name: str
    title: str
    producer: str
    consumers: tuple[Consumer, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    # A dead letter policy of its own.
    policy: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    channel: str
    name: str
    producer: str
    # When it ticks, and what it says then.
    settings: dict[str, Any]


ORDERS, PAYMENTS, INVOICES = "demo-orders", "demo-payments", "demo-invoices"
SIGNUPS, TELEMETRY, REMINDERS = "demo-signups", "demo-telemetry", "demo-reminders"
# Where Dapr's jobs of the application demo-cron go.
JOBS = "demo-cron-jobs"

QUICK = {"retries": 2, "initial_seconds": 1}

CHANNELS = (
    Channel(
        ORDERS,
        "Demo: orders",
        "demo-shop",
        (
            Consumer("billing", "healthy"),
            Consumer("warehouse", "flaky"),
            Consumer("archive", settings={"ack_timeout_seconds": 60}),
        ),
    ),
    Channel(
        PAYMENTS,
        "Demo: payments",
        "demo-shop",
        (
            Consumer("ledger", "slow", {"max_in_flight": 40}),
            Consumer("fraud-check", "choosy", {"retry_policy": QUICK}),
        ),
        policy={"alertDepth": 5},
    ),
    Channel(
        INVOICES,
        "Demo: invoices",
        "demo-shop",
        (Consumer("accounting", "healthy"), Consumer("old-bank", "nobody", {"retry_policy": {"retries": 1}})),
        settings={"max_age_seconds": 1800},
        policy={"autoRedrive": True},
    ),
    Channel(
        SIGNUPS,
        "Demo: sign-ups",
        "demo-website",
        (
            Consumer("welcome-mail", "healthy"),
            Consumer("crm", "picky", {"retry_policy": {"non_retriable": [422]}}),
            Consumer("newsletter", "retiring"),
        ),
    ),
    Channel(
        TELEMETRY,
        "Demo: telemetry",
        "demo-sensors",
        (
            Consumer("alarms", "healthy", {"rate_limit": {"per_second": 100, "burst": 200}}),
            Consumer("charts", settings={"pull_mode": "index", "unacked_cap": 500}),
        ),
    ),
    Channel(
        REMINDERS,
        "Demo: reminders",
        "demo-assistant",
        (Consumer("mailer", "healthy"),),
        settings={"partitions": 4, "delayed_messaging": True, "spread_seconds": 5},
    ),
    Channel(JOBS, "Demo: small jobs", "demo-cron", (Consumer("runner", "healthy"),), settings={"answers": "dapr"}),
)

SCHEDULES = (
    Schedule(REMINDERS, "stand-up", "demo-assistant", {"cron": "30 9 * * 1-5", "timezone": "Europe/Berlin"}),
    Schedule(REMINDERS, "every-minute", "demo-assistant", {"intervalSeconds": 60}),
    Schedule(ORDERS, "close-the-books", "demo-shop", {"cron": "5 0 * * *", "timezone": "America/New_York"}),
    Schedule(TELEMETRY, "calibrate", "demo-sensors", {"cron": "*/15 * * * *"}),
)

# The consumers that ask: by lease and by index.
WORKER, POLLER = (ORDERS, "archive"), (TELEMETRY, "charts")


def push_consumers() -> list[tuple[str, str]]:
    return [(channel.name, one.name) for channel in CHANNELS for one in channel.consumers if one.manner]
