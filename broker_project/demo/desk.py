"""The management API, as far as the demo needs more of it than the client has."""

from types import TracebackType
from typing import Any, Self

import httpx

from broker_client import NotFound, Unreachable
from broker_client.errors import error_class
from broker_client.flow import read_retry_after

ANY_STATE = {"If-Match": "*"}


class Desk:
    """Refusals are the client's errors."""

    def __init__(self, url: str, api_key: str) -> None:
        headers = {"Authorization": f"Bearer {api_key}"}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=10.0)
        self._app = {"dapr-api-token": api_key}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, document: object = None, headers: dict[str, str] | None = None) -> Any:
        try:
            answer = await self._http.request(method, path, json=document, headers=headers)
        except httpx.RequestError as error:
            raise Unreachable(0, detail=f"The broker does not answer ({type(error).__name__}).") from None
        if not answer.is_success:
            raise _refusal(answer)
        return answer.json() if answer.content else None

    async def put_schedule(self, channel: str, name: str, document: dict[str, Any]) -> None:
        await self.ask("PUT", f"/channel/{channel}/schedule/{name}", document, await self._state(channel, name))

    async def _state(self, channel: str, schedule: str) -> dict[str, str]:
        """Of a schedule that is there, its change asks for a condition."""
        try:
            await self.ask("GET", f"/channel/{channel}/schedule/{schedule}")
        except NotFound:
            return {}
        return ANY_STATE

    async def put_job(self, application: str, name: str, document: dict[str, Any]) -> None:
        """Dapr's door: it takes what is due in seconds."""
        await self.ask("POST", f"/v1.0/jobs/{name}", document, {**self._app, "dapr-app-id": application})

    async def delete(self, path: str) -> bool:
        """False: it was not there."""
        try:
            await self.ask("DELETE", path, headers=ANY_STATE)
        except NotFound:
            return False
        return True


def _refusal(answer: httpx.Response) -> Exception:
    try:
        told = answer.json()
    except ValueError:
        told = {}
    detail = told.get("detail") or told.get("message") or ""
    wait = read_retry_after(answer.headers.get("retry-after", ""), now=0.0)
    return error_class(answer.status_code)(
        answer.status_code, str(told.get("code", "")), str(detail), retry_after_seconds=wait
    )
