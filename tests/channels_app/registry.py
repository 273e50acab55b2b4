"""Short words for registry calls, and the rows that cases are about."""

import json
from typing import Any

from django.test import Client

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import Channel, Consumer, Producer


def put(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    """PUT JSON; keyword names are headers with underscores: if_match='…'."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.put(path, json.dumps(body or {}), content_type="application/json", headers=named)


def make_channel(public_id: str = "orders", **values: Any) -> Channel:
    return services.put(Channel(public_id=public_id), values=values, condition=Condition())[0]


def make_producer(public_id: str = "shop", **values: Any) -> Producer:
    return services.put(Producer(public_id=public_id), values=values, condition=Condition())[0]


def make_consumer(channel: Channel, public_id: str = "billing", **values: Any) -> Consumer:
    fresh = Consumer(channel=channel, public_id=public_id)
    return services.put(fresh, values={"callback_url": "http://127.0.0.1:9/", **values}, condition=Condition())[0]


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """Assert that this is the problem, whole, and return it."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(response.content)
    assert body["code"] == code
    assert body["status"] == status
    assert {"type", "title", "detail"} <= body.keys()
    return body
