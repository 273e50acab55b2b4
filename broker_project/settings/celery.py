"""Celery: queues, routes and the beat table on one screen. Redis only rings; the rows decide."""

from datetime import timedelta

from kombu import Queue

from .broker import SCHEDULER_INTERVAL_SECONDS
from .environment import from_environment

# The Redis that carries doorbells and rate limits. `./broker up` sets it to the embedded one.
REDIS_URL = from_environment("REDIS_URL", "redis://localhost:6379/0")


def kombu_url(url: str) -> str:
    """Kombu calls a socket redis+socket:// and its database virtual_host; redis-py says unix:// and db."""
    return url.replace("unix://", "redis+socket://").replace("?db=", "?virtual_host=")


CELERY_BROKER_URL = kombu_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # A ring need not be acknowledged in Redis: the rows decide, and the sweeps ring again. With it, a worker that
    # loses Redis falls over while it gives back what it holds.
    "ack_emulation": False,
    "socket_timeout": 1.0,
    "socket_connect_timeout": 1.0,
}

CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
# Every task may run twice: the row decides.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 5.0
CELERY_WORKER_ENABLE_SOFT_SHUTDOWN_ON_IDLE = True
CELERY_WORKER_ETA_TASK_LIMIT = 1000
CELERY_WORKER_SEND_TASK_EVENTS = True
CELERY_TASK_SEND_SENT_EVENT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"

# Separate worker processes serve dispatch and delivery: hanging consumers cannot starve the sweeps. Reports need Spark.
CELERY_TASK_QUEUES = [Queue("dispatch"), Queue("delivery"), Queue("reports")]
CELERY_TASK_DEFAULT_QUEUE = "dispatch"
CELERY_TASK_ROUTES = {
    "channels_app.deliver": {"queue": "delivery"},
    "channels_app.notify": {"queue": "delivery"},
    "channels_app.report_delivery_progress": {"queue": "delivery"},
    "channels_app.tell_alerts": {"queue": "delivery"},
    "reports_app.make_report": {"queue": "reports"},
    "reports_app.export_night": {"queue": "reports"},
    "watch_app.fill_hours": {"queue": "reports"},
}

CELERY_BEAT_SCHEDULER = "channels_app.beat:ProgressScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 5


def _every(seconds: int, task: str) -> dict[str, object]:
    """A sweep that is not picked up before the next one is due is dropped, not piled up."""
    return {"task": task, "schedule": timedelta(seconds=seconds), "options": {"expire_seconds": seconds}}


CELERY_BEAT_SCHEDULE = {
    "fan out what nobody rang for": _every(1, "channels_app.fan_out_left_over"),
    "promote due retries": _every(1, "channels_app.promote_due"),
    "ring for ready jobs": _every(1, "channels_app.ring_ready"),
    "take back expired leases": _every(2, "channels_app.take_back_lost"),
    "expire what waited too long": _every(5, "channels_app.expire_old"),
    "bury jobs of deleted consumers": _every(5, "channels_app.bury_gone"),
    "ring for scheduled messages": _every(SCHEDULER_INTERVAL_SECONDS, "scheduling_app.sweep"),
    "cancel messages of deleted channels": _every(5, "scheduling_app.cancel_gone"),
    "go on with operations": _every(5, "channels_app.run_operations"),
    "tick recurring schedules": _every(SCHEDULER_INTERVAL_SECONDS, "scheduling_app.tick"),
    "remove old dead letters": _every(60, "dlq_app.remove_old"),
    "redrive for recovered consumers": _every(10, "dlq_app.redrive_recovered"),
    "watch for alerts": _every(10, "channels_app.watch_alerts"),
    "tell of alerts": _every(10, "channels_app.tell_alerts"),
    "look after reports": _every(10, "reports_app.sweep_reports"),
    "remove old reports": _every(600, "reports_app.remove_old_reports"),
    "prune what the lake has": _every(60, "reports_app.prune"),
    "fold counters": _every(2, "channels_app.fold_counters"),
    "record numbers over time": _every(5, "watch_app.record"),
    "remove old numbers": _every(60, "watch_app.remove_old"),
    "look at the lake": _every(60, "watch_app.look_at_lake"),
    "report dispatch progress": _every(5, "channels_app.report_dispatch_progress"),
    "report delivery progress": _every(5, "channels_app.report_delivery_progress"),
}
