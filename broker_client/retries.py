"""When a request is sent again, and after how long."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from broker_client.flow import Answer, Flow, Request, T

_PASSING = (0, 429, 503)


@dataclass(frozen=True)
class Retries:
    """The wait before try n is by chance up to `first_seconds` x 2^n, on top of what the broker asks for."""

    # 0 sends once.
    most: int = 5
    first_seconds: float = 0.1
    ceiling_seconds: float = 5.0
    # A broker that asks for more is not waited for: the caller gets the error, with the time in it.
    longest_seconds: float = 30.0
    chance: Callable[[], float] = random.random

    def wait_seconds(self, turn: int, retry_after_seconds: float | None = None) -> float:
        most = min(self.ceiling_seconds, self.first_seconds * 2.0 ** min(turn, 30))
        return (retry_after_seconds or 0.0) + most * self.chance()

    def may_help(self, request: Request, answer: Answer) -> bool:
        if answer.status not in _PASSING:
            return False
        if answer.status == 0 and not request.repeatable:
            return answer.never_sent
        return (answer.retry_after_seconds or 0.0) <= self.longest_seconds


def persistent(flow: Flow[T], retries: Retries) -> Flow[T]:
    """The same flow, whose requests are sent again while that may help."""
    try:
        request = next(flow)
        while True:
            answer = yield from _insist(request, retries)
            request = flow.send(answer)
    except StopIteration as ended:
        value: T = ended.value
        return value
    finally:
        flow.close()


def _insist(request: Request, retries: Retries) -> Flow[Answer]:
    answer = yield request
    for turn in range(retries.most):
        if not retries.may_help(request, answer):
            break
        wait = retries.wait_seconds(turn, answer.retry_after_seconds)
        answer = (yield replace(request, after_seconds=wait)).repeated()
    return answer
