"""A job as JSON: read from a request, where its data is taken as the very text that came, and shown."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from broker_project.lib.errors import BrokerError
from scheduling_app.api.dapr.entries import members_of
from scheduling_app.dapr.durations import read_period
from scheduling_app.dapr.job import JSON, JobIn
from scheduling_app.dapr.job_errors import JobNameInBody, JobUnreadable

# A member's value, in which numbers are their texts, and its own text.
Member = tuple[Any, str]
_ABSENT: Member = (None, "null")
# protobuf's JSON knows both spellings.
_SPELLINGS = {"due_time": "dueTime", "failure_policy": "failurePolicy", "max_retries": "maxRetries"}
# What protobuf can say of them: a uint32, and the longest Duration. Whoever asks over gRPC is shown them too.
MOST_RETRIES = 2**32 - 1
MOST_INTERVAL_SECONDS = 315_576_000_000
_NO_JSON = "The body is not JSON in UTF-8, or is nested too deep."


def read_job(body: bytes) -> JobIn:
    members = _members(body)
    if members.get("name", _ABSENT)[0]:
        raise JobNameInBody
    return JobIn(
        schedule=_text(members, "schedule"),
        due_time=_text(members, "dueTime"),
        repeats=_number(members, "repeats"),
        ttl=_text(members, "ttl"),
        data=members.get("data", _ABSENT)[1].encode(),
        failure_policy=_policy(members.get("failurePolicy", _ABSENT)[0]),
        overwrite=_truth(members, "overwrite"),
    )


def show_job(name: str, job: JobIn) -> bytes:
    """As it was asked for."""
    shown = {"name": name, **{key: value for key, value in job.remembered().items() if key != "typeUrl"}}
    text = json.dumps(shown, ensure_ascii=False)
    data = _data(job)
    return (text if data is None else f'{text[:-1]}, "data": {data}}}').encode("utf-8", "surrogatepass")


def _data(job: JobIn) -> str | None:
    """None: it has none. What is no JSON is shown as protobuf writes bytes."""
    if job.content_type == JSON:
        text = job.data.decode("utf-8", "replace")
        return None if text == "null" else text
    return json.dumps({"@type": job.type_url, "value": base64.b64encode(job.data).decode()})


def _members(body: bytes) -> dict[str, Member]:
    try:
        text = body.decode().strip(" \t\r\n")
        found, end = members_of(text, 0)
    except (ValueError, RecursionError):
        raise JobUnreadable(_NO_JSON) from None
    except BrokerError:
        raise JobUnreadable from None
    if end < len(text):
        raise JobUnreadable("Something follows the JSON object.")
    return {_SPELLINGS.get(name, name): member for name, member in found.items()}


def _text(members: Mapping[str, Member], name: str) -> str | None:
    value, text = members.get(name, _ABSENT)
    if value is None:
        return None
    if not text.startswith('"'):
        raise JobUnreadable(f"{name} is a text.")
    # Nothing said is as good as nothing.
    return str(value) or None


def _number(members: Mapping[str, Member], name: str) -> int | None:
    value, _ = members.get(name, _ABSENT)
    if value is None:
        return None
    return _whole(value, name)


def _whole(value: Any, name: str) -> int:
    """A number is its text here, as large numbers are in protobuf's JSON too."""
    if not isinstance(value, str) or not value.isascii() or not value.isdigit() or len(value) > 10:
        raise JobUnreadable(f"{name} is a whole number, not below zero.")
    return int(value)


def _truth(members: Mapping[str, Member], name: str) -> bool:
    value, _ = members.get(name, _ABSENT)
    if value is not None and not isinstance(value, bool):
        raise JobUnreadable(f"{name} is true or false.")
    return bool(value)


def _policy(value: Any) -> dict[str, Any] | None:
    """Either drop, or constant with an interval and a number of retries."""
    if value is None:
        return None
    if not isinstance(value, dict) or len(value) != 1 or not isinstance(next(iter(value.values())), dict):
        raise JobUnreadable('failurePolicy is {"drop": {}} or {"constant": {"maxRetries": 3, "interval": "1s"}}.')
    [(kind, details)] = value.items()
    if kind == "drop":
        return {"drop": {}}
    if kind != "constant":
        raise JobUnreadable("failurePolicy is drop or constant.")
    return {"constant": _constant({_SPELLINGS.get(name, name): said for name, said in details.items()})}


def _constant(details: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if details.get("maxRetries") is not None:
        told["maxRetries"] = _retries(details["maxRetries"])
    if (interval := details.get("interval")) is not None:
        told["interval"] = _interval(interval)
    return told


def _retries(value: Any) -> int:
    retries = _whole(value, "maxRetries")
    if retries > MOST_RETRIES:
        raise JobUnreadable(f"maxRetries is at most {MOST_RETRIES}.")
    return retries


def _interval(text: Any) -> str:
    period = read_period(text) if isinstance(text, str) else None
    if period is None:
        raise JobUnreadable("The interval of a failurePolicy is a duration, as 10s.")
    if period.seconds > MOST_INTERVAL_SECONDS:
        raise JobUnreadable(f"The interval of a failurePolicy is at most {MOST_INTERVAL_SECONDS} seconds.")
    return text
