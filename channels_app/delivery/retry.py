"""What becomes of a job after a try: a pure decision on values."""

import random
from dataclasses import dataclass

from channels_app.delivery.breaker import OPEN_SECONDS
from channels_app.reasons import Reason

# Longer than the breaker stays open: the next probe is another job, if there is one.
PROBE_WAIT_SECONDS = OPEN_SECONDS + 5.0


@dataclass(frozen=True)
class Policy:
    """How often and how fast to try again."""

    retries: int
    initial_seconds: float
    factor: float
    ceiling_seconds: float
    jitter: str
    non_retriable: frozenset[str]

    def wait_seconds(self, failures: int, chance: float | None = None) -> float:
        """The wait after the n-th failure (1, 2, …): min(initial x factor^(n-1), ceiling), then jitter."""
        full = min(self.initial_seconds * self.factor ** min(failures - 1, 1_000), self.ceiling_seconds)
        share = random.random() if chance is None else chance  # noqa: S311  # spreads load, guards nothing
        if self.jitter == "full":
            return full * share
        return full * (1 + share) / 2 if self.jitter == "equal" else full


@dataclass(frozen=True)
class Outcome:
    """What one try came to."""

    reason: Reason | None
    status_code: int | None = None
    error: str = ""
    answer: str = ""
    duration_ms: int = 0
    retry_after_seconds: float = 0.0
    gone: bool = False
    # The consumer wants no other try of this one; it is not in trouble.
    dropped: bool = False
    # Cut short by our own shutdown: no try at all.
    released: bool = False

    @property
    def ok(self) -> bool:
        return self.reason is None and not self.released

    @property
    def speaks_for_consumer(self) -> bool:
        """Whether a consumer that answers so is well."""
        return self.ok or self.dropped


@dataclass(frozen=True)
class Verdict:
    """DELIVERED, DEAD with a reason, or QUEUED again after a wait; and what it took of the budget.

    `received`: the consumer has it, and will acknowledge; until then it stays INFLIGHT.
    """

    delivered: bool = False
    received: bool = False
    dead: bool = False
    wait_seconds: float = 0.0
    failures: int = 0


def decide(outcome: Outcome, *, failures: int, policy: Policy) -> Verdict:
    """`failures` counts those before this outcome."""
    if outcome.ok:
        return Verdict(delivered=True)
    if outcome.released:
        return Verdict()
    if outcome.reason is Reason.EXPIRED:
        return Verdict(dead=True)
    if failures >= policy.retries or _is_final(outcome, policy):
        return Verdict(dead=True, failures=1)
    return Verdict(wait_seconds=max(policy.wait_seconds(failures + 1), outcome.retry_after_seconds), failures=1)


def decide_probe(outcome: Outcome, *, failures: int, policy: Policy) -> Verdict:
    """The one job that an open breaker lets through pays nothing for the consumer's trouble."""
    verdict = decide(outcome, failures=failures, policy=policy)
    if verdict.failures == 0 or _is_final(outcome, policy):
        return verdict
    return Verdict(wait_seconds=max(PROBE_WAIT_SECONDS, outcome.retry_after_seconds))


def _is_final(outcome: Outcome, policy: Policy) -> bool:
    if outcome.gone or outcome.dropped:
        return True
    names = {str(outcome.status_code), str(outcome.reason)}
    return bool(names & policy.non_retriable)
