"""Dapr's door over a socket, for tests: what is said to it, and what is stored then. No engine runs."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
from psycopg.rows import dict_row

from tests.acceptance.dapr import THREE_COMPONENTS
from tests.acceptance.servers import Broker

JSON = {"Content-Type": "application/json"}
BAD_METADATA = ("ERR_PUBSUB_REQUEST_METADATA", "DAPR_PUBSUB_METADATA_DESERIALIZATION")


@dataclass
class Door:
    web: httpx.Client
    broker: Broker

    def publish(
        self, topic: str, content: bytes = b'{"a": 1}', *, pubsub: str = "pubsub", query: str = "", **headers: str
    ) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.web.post(f"/v1.0/publish/{pubsub}/{topic}{query}", content=content, headers={**JSON, **named})

    def bulk(
        self, topic: str, entries: Any, *, pubsub: str = "pubsub", query: str = "", version: str = "v1.0"
    ) -> httpx.Response:
        body = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
        return self.web.post(f"/{version}/publish/bulk/{pubsub}/{topic}{query}", content=body, headers=JSON)

    def rows(self, statement: str, *parameters: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.broker.database_url, row_factory=dict_row) as connection:
            return connection.execute(statement, parameters).fetchall()

    def messages(self, channel: str) -> list[dict[str, Any]]:
        return self.rows(
            """SELECT m.*, p.public_id AS producer FROM message m JOIN channel c ON c.id = m.channel_id
               JOIN producer p ON p.id = m.producer_id WHERE c.public_id = %s ORDER BY m.id""",
            channel,
        )

    def scheduled(self, channel: str) -> list[dict[str, Any]]:
        return self.rows(
            """SELECT s.* FROM scheduled_message s JOIN channel c ON c.id = s.channel_id
               WHERE c.public_id = %s ORDER BY s.id""",
            channel,
        )

    def stored(self, channel: str) -> dict[str, Any]:
        [message] = self.messages(channel)
        return dict(json.loads(message["payload"]))


def opened(broker: Broker) -> Door:
    """With three components, and a producer that has a token of its own."""
    broker.environment |= {"MANAGEMENT_RATE_PER_SECOND": "0", "REFUSALS_PER_MINUTE": "0"}
    file = broker.data_dir / "components.yaml"
    file.write_text(THREE_COMPONENTS)
    broker.manage("load_components", str(file))
    web = broker.serve()
    web.headers["dapr-api-token"] = web.headers["Authorization"].removeprefix("Bearer ")
    web.put("/producer/shop", json={"token": "a-producers-token"})
    return Door(web, broker)


def new_topic() -> str:
    return f"orders-{uuid.uuid4().hex[:8]}"


def refused(answer: httpx.Response, status: int, code: str, reason: str) -> str:
    """Checks Dapr's shape of an error; returns the message."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body.keys() == {"errorCode", "message", "details"}
    assert body["errorCode"] == code
    [info] = body["details"]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert (info["domain"], info["reason"]) == ("dapr.io", reason)
    return str(body["message"])
