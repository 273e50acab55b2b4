"""Reference: every address of the HTTP API in short, from the OpenAPI document."""

from collections import defaultdict
from typing import Any

from drf_spectacular.settings import spectacular_settings

from broker_project.guide.table import table

HEAD = """# HTTP

Every address in short. A running broker has the whole contract: `/docs` to read, `/openapi.json` for tools.
Refusals are problem documents (RFC 9457) with a stable `code`; the doors of other systems answer in their manners.
"""
# In the order in which a newcomer meets them.
TAGS = (
    "messages",
    "scheduled messages",
    "schedules",
    "registry",
    "delivery",
    "jobs",
    "dead letters",
    "operations",
    "Dapr",
    "Querator",
    "polled queue",
)
CREDENTIALS = {
    "apiKey": "API key",
    "staffSession": "staff",
    "channelToken": "channel's token",
    "consumerToken": "consumer's token",
    "daprApiToken": "`dapr-api-token`",
}


def page() -> str:
    rows = _rows_by_tag()
    tags = [*TAGS, *sorted(rows.keys() - set(TAGS))]
    return "\n".join([HEAD, *(_section(tag, rows[tag]) for tag in tags)])


def _section(tag: str, rows: list[tuple[str, ...]]) -> str:
    return f"## {tag[0].upper()}{tag[1:]}\n\n" + table(("address", "what", "opened by", "answers"), rows)


def _rows_by_tag() -> dict[str, list[tuple[str, ...]]]:
    document = spectacular_settings.DEFAULT_GENERATOR_CLASS().get_schema(request=None, public=True)
    rows: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for address, operations in sorted(document["paths"].items()):
        for method, operation in operations.items():
            rows[operation["tags"][0]].append(_row(address, method, operation))
    return rows


def _row(address: str, method: str, operation: dict[str, Any]) -> tuple[str, ...]:
    answers = sorted(code for code in operation["responses"] if code.startswith("2"))
    return (
        f"{method.upper()} `{address}`",
        operation["summary"].rstrip("."),
        _opened_by(operation),
        ", ".join(answers),
    )


def _opened_by(operation: dict[str, Any]) -> str:
    """Any of its credentials, each of one or more headers; the doors name their headers as parameters instead."""
    named = [" and ".join(CREDENTIALS[name] for name in one) for one in operation.get("security", []) if one]
    if named:
        return ", ".join(named)
    tokens = [each["name"] for each in operation.get("parameters", []) if each["name"].endswith("-Token")]
    return " and ".join(f"`{name}`" for name in tokens) or "anyone"
