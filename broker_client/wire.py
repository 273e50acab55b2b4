"""Between flows and httpx: the same for both twins."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx

from broker_client.flow import Answer, Request


def base_url(url: str) -> httpx.URL:
    found = httpx.URL(url)
    if found.scheme not in ("http", "https") or not found.host:
        raise ValueError("The broker's address is absolute, with http or https.")
    if found.userinfo:
        # It would be in the log of every request.
        raise ValueError("The broker's address has no user and no password in it.")
    return found


def client_headers() -> dict[str, str]:
    return {"User-Agent": f"broker-client/{_version()}"}


def sent_as(request: Request, timeout_seconds: float) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": request.path,
        # As UTF-8: httpx alone would take ASCII only.
        "headers": [(name.encode(), value.encode()) for name, value in request.headers.items()],
        "content": request.content or None,
        "timeout": timeout_seconds + request.extra_seconds,
    }


def answer_of(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)


def _version() -> str:
    try:
        return version("broker-client")
    except PackageNotFoundError:
        return "source"
