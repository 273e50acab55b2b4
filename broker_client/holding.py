"""What the broker is told of jobs that are held: what became of them, that they are kept, that they are given back."""

from collections.abc import Iterable

from broker_client.errors import BrokerError, Conflict, Invalid
from broker_client.flow import Flow
from broker_client.held import Held
from broker_client.identity import Identity
from broker_client.pulling import acknowledge, extend, reject, release
from broker_client.values import Job


def report(identity: Identity, held: Held) -> Flow[None]:
    """All that is to be told by now. What could not be told is kept, unless the broker does not want it."""
    yield from _report_acks(identity, held)
    yield from _report_rejected(identity, held)


def beat(identity: Identity, held: Held) -> Flow[None]:
    """What is done is told, what is not is kept for another while."""
    yield from report(identity, held)
    jobs = held.open_jobs()
    results = yield from extend(identity, held.channel, held.consumer, jobs, lease_seconds=held.lease_seconds)
    for job, said in zip(jobs, results, strict=True):
        if said.is_lost and held.holds(job):
            held.lose(job)


def give_back(identity: Identity, held: Held, jobs: Iterable[Job]) -> Flow[None]:
    """Without a failure. One that is not ours any more needs no giving back."""
    for job in jobs:
        if not held.let_go(job):
            continue
        try:
            yield from release(identity, held.channel, held.consumer, job)
        except (Conflict, Invalid):
            held.lose(job)


def wind_up(identity: Identity, held: Held) -> Flow[None]:
    """The end: what is done is told, everything else is given back."""
    yield from report(identity, held)
    yield from give_back(identity, held, held.open_jobs())


def _report_acks(identity: Identity, held: Held) -> Flow[None]:
    acks = held.take_acks()
    try:
        results = yield from acknowledge(identity, held.channel, held.consumer, acks)
    except BrokerError as error:
        if error.is_passing:
            held.put_back(acks)
        raise
    except GeneratorExit:
        # Interrupted: telling twice is harmless.
        held.put_back(acks)
        raise
    for ack, said in zip(acks, results, strict=True):
        if said.is_lost:
            held.lose(ack)


def _report_rejected(identity: Identity, held: Held) -> Flow[None]:
    rejected = held.take_rejected()
    while rejected:
        job, error = rejected[0]
        try:
            yield from reject(identity, held.channel, held.consumer, job, error)
        except (Conflict, Invalid):
            held.lose(job)
        except (BrokerError, GeneratorExit):
            held.put_back_rejected(rejected)
            raise
        rejected = rejected[1:]
