"""Applications at Dapr's door, for tests."""

from typing import Any

import httpx

from tests.acceptance.servers import Broker

COMPONENTS = """
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: events}
spec: {type: pubsub.redis, version: v1}
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: later}
spec:
  type: pubsub.redis
  version: v1
  metadata: [{name: enableDelayedMessaging, value: "true"}]
"""

# One that sends now, one that may delay, one that makes no topics.
THREE_COMPONENTS = """
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: pubsub}
spec: {type: pubsub.redis, version: v1}
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: delayed}
spec:
  type: pubsub.redis
  version: v1
  metadata: [{name: enableDelayedMessaging, value: "true"}]
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {name: strict}
spec:
  type: pubsub.redis
  version: v1
  metadata: [{name: createTopics, value: "false"}]
"""


def load_components(broker: Broker) -> None:
    """`events` sends now, `later` may delay."""
    file = broker.data_dir / "components.yaml"
    file.write_text(COMPONENTS)
    broker.manage("load_components", str(file))


class App:
    """An application at Dapr's door, by an API key or by its own token."""

    def __init__(self, web: httpx.Client, app_id: str, token: str = "") -> None:
        self.web, self.app_id = web, app_id
        self.headers = {"dapr-api-token": token or web.headers["Authorization"].removeprefix("Bearer ")}
        if app_id:
            self.headers["dapr-app-id"] = app_id

    def call(self, method: str, path: str, **more: Any) -> httpx.Response:
        # Not the web's own client: its API key would go along.
        return httpx.request(method, f"{self.web.base_url}{path}", headers=self.headers, timeout=20, **more)

    def schedule(self, name: str, version: str = "v1.0", **job: Any) -> httpx.Response:
        return self.call("POST", f"/{version}/jobs/{name}", json=job)

    def get(self, name: str) -> httpx.Response:
        return self.call("GET", f"/v1.0/jobs/{name}")

    def delete(self, name: str) -> httpx.Response:
        return self.call("DELETE", f"/v1.0/jobs/{name}")

    def waiting(self) -> int:
        status = self.web.get(f"/channel/{self.app_id}-jobs/messages-status").json()
        return int(status["counts"]["SCHEDULED"]["count"])


def refused(response: httpx.Response, status: int, reason: str) -> str:
    """In Dapr's shape, whole."""
    assert response.status_code == status, response.text
    document = response.json()
    assert document["errorCode"] == reason
    [info] = document["details"]
    assert (info["reason"], info["domain"]) == (reason, "dapr.io")
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    return str(document["message"])
