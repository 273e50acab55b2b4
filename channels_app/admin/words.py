"""What the forms call each column, and say about it."""

RETRY_COLUMNS = (
    "retries",
    "retry_initial_seconds",
    "retry_factor",
    "retry_ceiling_seconds",
    "retry_jitter",
    "non_retriable",
)

LABELS = {
    "public_id": "Id",
    "retries": "Retries",
    "retry_initial_seconds": "First wait (seconds)",
    "retry_factor": "Factor",
    "retry_ceiling_seconds": "Longest wait (seconds)",
    "retry_jitter": "Jitter",
    "non_retriable": "Not tried again",
    "rate_per_second": "Rate (per second)",
    "rate_burst": "Burst",
    "max_backlog": "Longest backlog",
    "max_age_seconds": "Longest age (seconds)",
    "retention_days": "Kept for (days)",
    "spread_seconds": "Spread (seconds)",
    "release_per_second": "Release (per second)",
    "callback_url": "Callback URL",
    "timeout_seconds": "Timeout (seconds)",
    "ack_mode": "Acknowledged by",
    "ack_timeout_seconds": "Acknowledged within (seconds)",
    "max_in_flight": "Most in flight",
    "unacked_cap": "Most unacknowledged",
}

# By what a consumer does to acknowledge.
ACKNOWLEDGED_BY = {
    "response": "its answer",
    "explicit": "an acknowledgement after its answer",
    "lease": "an acknowledgement within its lease",
    "index": "its index",
}

NEW_ID = "1 to 255 of A-Z a-z 0-9 . _ ~ - and fixed once saved: it is part of the addresses."

HELP = {
    "name": "For people. Blank: the id.",
    "retries": "How often a failed delivery is tried again.",
    "retry_initial_seconds": "The wait before the first retry.",
    "retry_factor": "Each wait is this many times the one before.",
    "retry_ceiling_seconds": "No wait is longer than this.",
    "retry_jitter": "Spreads retries, so that they do not all come at once.",
    "non_retriable": "Status codes and reasons, with commas: 404, http_3xx.",
    "rate_per_second": "Blank: no limit.",
    "rate_burst": "How many may come at once. Blank: as many as a second's rate.",
    "max_backlog": "With more undelivered jobs than this, publishing is refused. Blank: no limit.",
    "partitions": "Order is kept within a partition; more of them trade order for parallelism.",
    "delayed_messaging": "Messages may be scheduled for later.",
    "max_age_seconds": "An undelivered message older than this is dead.",
    "dead_letters": "What becomes of jobs that ran out of retries.",
    "retention_days": "How long finished messages stay in the database. Blank: for ever.",
    "answers": "How the answer of a push consumer is read. Topics of Dapr's door are read by Dapr's words.",
    "spread_seconds": "Each message for later goes up to this much after its time, by chance. Blank: at its time.",
    "release_per_second": "Of the messages for later that are due, so many go a second. Blank: all at once.",
    "type": "Push: we POST each message. Pull: the consumer fetches them.",
    "callback_url": "Where messages are POSTed to: http:// or https://.",
    "timeout_seconds": "How long we wait for an answer, up to 120.",
    "circuit_breaker": "Rest for a while when the consumer keeps failing.",
    "ack_mode": "What counts as delivered.",
    "ack_timeout_seconds": "Not acknowledged by then: a failed try.",
    "pull_mode": "Lease: take jobs and acknowledge each. Index: read on from a position.",
    "unacked_cap": "By index: how far reading may run ahead of acknowledging.",
    "max_in_flight": "How many deliveries may be under way. Blank: 100 for push, 1,000 for pull.",
}
