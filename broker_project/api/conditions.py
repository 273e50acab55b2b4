"""The headers of a conditional update, read once into a Condition."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from django.utils.http import http_date
from rest_framework.request import Request
from rest_framework.response import Response

from broker_project.lib.conditions import Condition, PreconditionInvalid


def condition_of(request: Request) -> Condition:
    since = request.headers.get("If-Unmodified-Since")
    etags = request.headers.get("If-Match", "")
    return Condition(
        unmodified_since=_http_date(since) if since is not None else None,
        etags=frozenset(tag.strip() for tag in etags.split(",") if tag.strip()),
        only_new=request.headers.get("If-None-Match", "").strip() == "*",
    )


def _http_date(text: str) -> datetime:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError) as error:
        raise PreconditionInvalid from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def stamp(response: Response, *, changed_at: datetime, etag: str) -> Response:
    """Says which state is shown, in the two ways a client may give it back."""
    response["Last-Modified"] = http_date(changed_at.timestamp())
    response["ETag"] = etag
    response["Cache-Control"] = "no-store"
    return response
