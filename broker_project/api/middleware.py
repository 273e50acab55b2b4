"""A refusal in a view that is not DRF's (the admin) is answered as one, and not as a surprise."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from broker_project.api.exceptions import refusal_behind
from broker_project.api.problems import RETRY_AFTER_SECONDS, page


class RefusalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        refusal = refusal_behind(exception)
        if refusal is None:
            return None
        response = page(request, refusal.status, refusal.code, refusal.detail)
        if refusal.status == 503:
            response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response
