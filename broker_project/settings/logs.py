"""Logs: readable lines in development, JSON in production; a request id and no secret in either."""

import structlog

from broker_project.lib.redaction import redact

from .environment import env

# The least severe line that is written: DEBUG, INFO, WARNING or ERROR.
LOG_LEVEL = env.str("LOG_LEVEL", "INFO")

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


def logging_with(renderer: structlog.typing.Processor) -> dict[str, object]:
    """The standard library's logging, with every line, ours or a library's, drawn by the same processors."""
    # A traceback is text before it is cleaned: an exception may carry a secret, too.
    as_text = structlog.processors.format_exc_info
    finish = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, as_text, redact, renderer]
    formatter = {"()": structlog.stdlib.ProcessorFormatter, "foreign_pre_chain": _SHARED, "processors": finish}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
        "loggers": {
            "django.server": {"propagate": True},
            # The frame writes one line a request; Django's own line for a 4xx would be a second.
            "django.request": {"level": "ERROR"},
            # A line or two for every task would drown all else: Flower shows them.
            **{name: {"level": "WARNING"} for name in ("celery.worker.strategy", "celery.app.trace", "celery.beat")},
        },
    }


structlog.configure(
    processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    # What is not written costs nothing.
    wrapper_class=structlog.make_filtering_bound_logger(LOG_LEVEL),
    cache_logger_on_first_use=True,
)
