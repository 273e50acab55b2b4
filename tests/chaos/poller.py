"""A consumer that asks, in a process of its own, made to be killed: `python -m tests.chaos.poller '{"port": …}'`.

It forgets some jobs, fails some, and writes down what it was given and what it was answered, a line each, before it
goes on: what is not written down was never known to it.
"""

import http.client
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

FORGETS, FAILS = 0.05, 0.05
AGAIN_SECONDS = 0.05


@dataclass
class Poller:
    host: str
    port: int
    path: str
    lease_seconds: float
    limit: int
    history: TextIO

    def work(self) -> None:
        while True:
            answer = self._post("lease", {"limit": self.limit, "leaseSeconds": self.lease_seconds, "waitSeconds": 1})
            jobs = answer["result"] if answer else []
            for job in jobs:
                self._note("leased", job["id"], job["attempt"], job["leaseUntil"])
            acks = [self._ack(job) for job in jobs if random.random() >= FORGETS]
            if acks:
                self._acknowledge(acks)

    def _ack(self, job: dict[str, Any]) -> dict[str, Any]:
        status = "FAILED" if random.random() < FAILS else "COMPLETE"
        return {"jobId": job["id"], "attempt": job["attempt"], "status": status}

    def _acknowledge(self, acks: list[dict[str, Any]]) -> None:
        # Before it is sent: who is killed while the answer is under way has said it all the same.
        for ack in acks:
            self._note("said", ack["jobId"], ack["attempt"], ack["status"])
        answer = self._post("acks", acks)
        for ack, result in zip(acks, answer["result"] if answer else [], strict=False):
            self._note(result["result"], ack["jobId"], ack["attempt"], ack["status"])

    def _note(self, *words: object) -> None:
        self.history.write(" ".join(map(str, words)) + "\n")
        self.history.flush()

    def _post(self, door: str, document: Any) -> Any:
        """None: it could not be heard, and nothing is known of it."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        headers = {
            "Content-Type": "application/json",
            "X-Broker-Channel-Token": "open",
            "X-Broker-Consumer-Token": "mine",
        }
        try:
            connection.request("POST", f"{self.path}/{door}", json.dumps(document), headers)
            answer = connection.getresponse()
            body = answer.read()
            return json.loads(body) if answer.status == 200 else self._rest()
        except (OSError, http.client.HTTPException):
            return self._rest()
        finally:
            connection.close()

    def _rest(self) -> None:
        time.sleep(AGAIN_SECONDS)


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    with Path(told.pop("history")).open("a") as history:
        Poller(history=history, **told).work()
