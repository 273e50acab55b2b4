"""The broker's own knobs: a sentence and a default for each, set by the environment or .env."""

import math

from .environment import (
    DATA_DIR,
    env,
    from_environment,
    one_of,
    readable_secret,
    readable_time,
    readable_webhook,
    several_from_environment,
)

# Where clients reach the web server; used in links and in what `up` prints.
PUBLIC_URL = env.str("PUBLIC_URL", "http://127.0.0.1:8000")
# Where staff reach Flower; linked from the admin.
FLOWER_URL = env.str("FLOWER_URL", "http://127.0.0.1:8001")
# The built-in receiver that the sample consumer points at.
ECHO_URL = env.str("ECHO_URL", "http://127.0.0.1:8002")
# Where the gRPC door is, host:port: the health that Dapr's SDKs wait for (/v1.0/healthz/outbound) asks it; none: not.
GRPC_ADDRESS = env.str("GRPC_ADDRESS", "")
# A file that declares channels, producers and consumers, applied at every start; none if it is not there.
REGISTRY_FILE = env.str("REGISTRY_FILE", "broker.toml")

# Web server processes; each has an event loop, its threads and its database connections.
WEB_PROCESSES = env.int("WEB_PROCESSES", 1)
# What a web process answers: all, doors (what needs no Django: publishing, pulling, health), or django.
WEB_SERVES = one_of("WEB_SERVES", env.str("WEB_SERVES", "all"), "all", "doors", "django")
# How long a web process that is asked to stop goes on answering, each answer the last of its connection.
WEB_DRAIN_SECONDS = env.float("WEB_DRAIN_SECONDS", 3.0)
# Threads per web process for everything that Django answers.
WEB_THREADS = env.int("WEB_THREADS", 16)
# Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, comma separated.
TRUSTED_PROXIES = env.str("TRUSTED_PROXIES", "127.0.0.1")

# The largest body of one request; a larger one is 413.
MAX_PAYLOAD_BYTES = env.int("MAX_PAYLOAD_BYTES", 1024 * 1024)
# The largest body of a batch of messages.
MAX_BATCH_BYTES = env.int("MAX_BATCH_BYTES", 32 * 1024 * 1024)
# The most messages in a batch.
MAX_BATCH_MESSAGES = env.int("MAX_BATCH_MESSAGES", 10_000)
# A body that has not arrived by then is 408.
BODY_TIMEOUT_SECONDS = env.float("BODY_TIMEOUT_SECONDS", 30.0)
# The longest request target (path and query); a longer one is 414.
MAX_TARGET_BYTES = env.int("MAX_TARGET_BYTES", 8 * 1024)
# All request headers together; more is 431.
MAX_HEADER_BYTES = env.int("MAX_HEADER_BYTES", 32 * 1024)

# How old a process's knowledge of tokens may be: a revoked token is dead within a second.
REGISTRY_MAX_AGE_SECONDS = env.float("REGISTRY_MAX_AGE_SECONDS", 0.5)
# Requests a second that one API key or staff member may make to the management API; 0 turns the limit off.
MANAGEMENT_RATE_PER_SECOND = env.float("MANAGEMENT_RATE_PER_SECOND", 100.0)
# How many of them may come at once.
MANAGEMENT_BURST = env.int("MANAGEMENT_BURST", 200)
# Refused credentials a minute from one address before it gets 429; 0 turns the limit off.
REFUSALS_PER_MINUTE = env.float("REFUSALS_PER_MINUTE", 60.0)
# How long a door waits for Redis to say whether a rate limit is in the way; then it lets the request in, in seconds.
LIMIT_PATIENCE_SECONDS = env.float("LIMIT_PATIENCE_SECONDS", 0.05)
# Shared secrets of a gateway that signs every request (X-Broker-Signature); none: not asked for.
GATEWAY_SECRETS: list[str] = several_from_environment("GATEWAY_SECRETS")

# Doors of other systems that ask for no key, comma separated: dapr, querator, queue. For a network you trust.
OPEN_DOORS: list[str] = env.list("OPEN_DOORS", [])

# The longest wait that a consumer's Retry-After is granted.
RETRY_AFTER_MAX_SECONDS = env.float("RETRY_AFTER_MAX_SECONDS", 3600.0)
# Threads of a delivery worker; each serves one consumer for a second at a time.
DELIVERY_THREADS = env.int("DELIVERY_THREADS", 8)
# How many events one Dapr subscription over gRPC may hold; with fewer, several subscribers share more evenly.
SUBSCRIPTION_EVENTS = max(1, env.int("SUBSCRIPTION_EVENTS", 100))

# How often scheduled messages are swept, in milliseconds, rounded up to a second; rings bring them in between.
SCHEDULER_INTERVAL_MS = env.int("SCHEDULER_INTERVAL_MS", 5_000)
SCHEDULER_INTERVAL_SECONDS = max(1, math.ceil(SCHEDULER_INTERVAL_MS / 1000))
# How far ahead a message must be scheduled, in minutes; a fraction will do, and 0 asks only that it is not past.
MIN_SCHEDULE_DELAY_MINUTES = env.float("MIN_SCHEDULE_DELAY_MINUTES", 2.0)
# The most scheduled messages that one transaction dispatches; the sweep goes on until none is due.
SCHEDULER_BATCH_SIZE = env.int("SCHEDULER_BATCH_SIZE", 100)

# How often a dead letter may be queued again by hand or by a redrive.
DLQ_MAX_REPLAYS = env.int("DLQ_MAX_REPLAYS", 10)
# How many days dead letters are kept where the channel does not say; 0 keeps them.
DEAD_LETTER_RETENTION_DAYS = max(0, env.int("DEAD_LETTER_RETENTION_DAYS", 0))
# Where alerts are posted, under EGRESS_ALLOW as deliveries are; none: they are kept and logged only.
OPERATIONS_WEBHOOK_URL = readable_webhook(env.str("OPERATIONS_WEBHOOK_URL", ""))
# The secret that signs them, whsec_ and base64, as consumers have one; none: they are not signed.
OPERATIONS_WEBHOOK_SECRET = readable_secret(from_environment("OPERATIONS_WEBHOOK_SECRET", ""))

# How many days the id of a pruned message stays taken, and answers 410; 0 keeps it for good.
ID_RETENTION_DAYS = env.int("ID_RETENTION_DAYS", 400)
# How many days operations that have ended are kept; 0 keeps them.
OPERATION_RETENTION_DAYS = env.int("OPERATION_RETENTION_DAYS", 0)
# How many days the admin's log of who did what is kept; 0 keeps it.
AUDIT_RETENTION_DAYS = env.int("AUDIT_RETENTION_DAYS", 0)
# How many days alerts that are over are kept; 0 keeps them.
ALERT_RETENTION_DAYS = max(0, env.int("ALERT_RETENTION_DAYS", 400))

# Where the lake is: a directory, or any URL that Hadoop knows (s3a://bucket/lake); none: in the data directory.
LAKE_URL = env.str("LAKE_URL", "")
# A replica of the database that exports and reports read rows from; none: the database itself.
ANALYTICS_DATABASE_URL = from_environment("ANALYTICS_DATABASE_URL", "")
# Whether the lake holds payloads too.
LAKE_PAYLOADS = env.bool("LAKE_PAYLOADS", False)
# The Spark cluster that exports and reports run on (spark://host:7077); none: this machine.
SPARK_MASTER = env.str("SPARK_MASTER", "")
# How far exports and reports on this machine, not on a cluster, stand back behind its traffic: 0 (not at all) to 19.
SPARK_NICENESS = min(19, max(0, env.int("SPARK_NICENESS", 10)))

# A part whose last sign of progress is older than this counts as stuck in /readyz.
PROGRESS_MAX_AGE_SECONDS = env.float("PROGRESS_MAX_AGE_SECONDS", 30.0)
# Whether /metrics is open to all; else it needs an API key.
METRICS_OPEN = env.bool("METRICS_OPEN", False)

# How many days the dashboard's numbers by the hour are kept; finer ones go sooner.
WATCH_RETENTION_DAYS = max(1, env.int("WATCH_RETENTION_DAYS", 400))

# When the report of the day before is made each night, as HH:MM in UTC; empty: never.
REPORT_NIGHTLY_AT = readable_time(env.str("REPORT_NIGHTLY_AT", "03:00"))
# How many days reports are kept.
REPORT_RETENTION_DAYS = env.int("REPORT_RETENTION_DAYS", 30)
REPORTS_DIR = DATA_DIR / "reports"
