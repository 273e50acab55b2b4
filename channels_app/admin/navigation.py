"""The admin's sidebar."""

from typing import Any

from django.http import HttpRequest


def build(request: HttpRequest) -> list[dict[str, Any]]:
    return []
