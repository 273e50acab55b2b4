"""Operations go on behind the last batch, whatever happened to it; nothing is done twice."""

from threading import Barrier, Thread

import pytest
import redis
from django.db import DataError, IntegrityError, OperationalError, connections, transaction

from broker_project.lib.pg_lock import only_one
from channels_app import tasks
from channels_app.errors import OperationEnded, OperationNotStopped
from channels_app.models import Channel, Operation, OperationStatus
from channels_app.operations import acts, runner
from channels_app.operations.bell import operation_bell
from tests.acceptance.servers import wait_until
from tests.channels_app.messages import make_messages
from tests.channels_app.operations.raising import Raise, Resting, Uncountable, priorities, registered, start
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    channel = make_channel()
    make_messages(channel, "a", "b", "c", "d", "e")
    return channel


@pytest.fixture
def kind() -> Raise:
    return registered(Raise())


def again(operation: Operation) -> Operation:
    operation.refresh_from_db()
    return operation


def test_an_operation_runs_to_its_end(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    assert (operation.status, operation.progress, operation.asked_by) == (OperationStatus.RUNNING, None, "me")

    assert runner.run_step(operation.pk)
    assert (again(operation).total, operation.done, operation.progress) == (5, 2, 0.4)
    assert operation.started_at
    runner.run(operation.pk, seconds=20)

    assert priorities() == [1] * 5
    assert (again(operation).status, operation.done, operation.failed) == (OperationStatus.DONE, 5, 0)
    assert operation.progress == 1
    assert operation.finished_at
    assert not runner.run_step(operation.pk)
    assert priorities() == [1] * 5


def test_a_batch_cut_off_is_done_again_and_no_other(channel: Channel, kind: Raise) -> None:
    """As if the worker were killed between the rows and the commit."""
    operation = start(channel)
    runner.run_step(operation.pk)
    kind.trouble = {"d": OperationalError("the connection is lost")}

    with pytest.raises(OperationalError):
        runner.run_step(operation.pk)

    assert (again(operation).status, operation.done, priorities()) == (OperationStatus.RUNNING, 2, [1, 1, 0, 0, 0])
    kind.trouble = {}
    runner.run(operation.pk, seconds=20)
    assert (again(operation).done, priorities()) == (5, [1] * 5)


def test_a_surprise_ends_it_with_the_error_and_it_can_be_resumed(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    kind.trouble = {"d": ValueError("what is\0this?")}

    runner.run(operation.pk, seconds=20)

    assert (again(operation).status, operation.last_error) == (OperationStatus.FAILED, "ValueError: what isthis?")
    assert (operation.done, priorities()) == (2, [1, 1, 0, 0, 0])
    assert operation.finished_at
    kind.trouble = {}
    acts.resume(operation=operation, by="somebody")
    assert (operation.status, operation.last_error) == (OperationStatus.RUNNING, "")
    runner.run(operation.pk, seconds=20)
    assert (again(operation).status, operation.resumed_by, priorities()) == (OperationStatus.DONE, "somebody", [1] * 5)


def test_what_the_database_says_is_for_the_log_only(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    kind.trouble = {"a": DataError("Failing row contains (secret)")}

    assert not runner.run_step(operation.pk)
    assert (again(operation).status, operation.last_error) == (OperationStatus.FAILED, "DataError: see the log")


def test_a_kind_that_nobody_knows_fails(channel: Channel) -> None:
    operation = start(channel, "no such kind")

    assert not runner.run_step(operation.pk)
    assert (again(operation).status, operation.last_error) == (OperationStatus.FAILED, "UnknownKind: no such kind")


def test_what_cannot_be_counted_in_time_is_run_all_the_same(channel: Channel) -> None:
    registered(Uncountable())
    operation = start(channel, "uncountable")

    runner.run(operation.pk, seconds=20)

    assert (again(operation).total, operation.done, operation.status) == (None, 5, OperationStatus.DONE)


def test_a_stop_comes_between_two_batches_and_a_resume_goes_on_there(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    runner.run_step(operation.pk)

    acts.stop(operation=operation, by="me")
    acts.stop(operation=operation, by="another")
    assert (operation.status, operation.finished_at) == (OperationStatus.STOPPING, None)
    runner.run(operation.pk, seconds=20)

    assert (again(operation).status, operation.done, operation.stopped_by) == (OperationStatus.STOPPED, 2, "another")
    assert priorities() == [1, 1, 0, 0, 0]
    with pytest.raises(OperationEnded):
        acts.stop(operation=operation, by="me")
    acts.resume(operation=operation, by="me")
    runner.run(operation.pk, seconds=20)
    assert (again(operation).status, priorities()) == (OperationStatus.DONE, [1] * 5)


def test_a_stop_can_be_taken_back_before_it_is_heard(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    acts.stop(operation=operation, by="me")
    acts.resume(operation=operation, by="me")

    runner.run(operation.pk, seconds=20)

    assert again(operation).status == OperationStatus.DONE


def test_what_runs_or_is_done_is_not_resumed(channel: Channel, kind: Raise) -> None:
    operation = start(channel)
    with pytest.raises(OperationNotStopped):
        acts.resume(operation=operation, by="me")
    runner.run(operation.pk, seconds=20)
    for act, error in ((acts.resume, OperationNotStopped), (acts.stop, OperationEnded)):
        with pytest.raises(error):
            act(operation=operation, by="me")
    assert again(operation).status == OperationStatus.DONE


def test_the_database_keeps_an_end_without_a_time_out(channel: Channel) -> None:
    operation = start(channel)
    with pytest.raises(IntegrityError), transaction.atomic():
        Operation.objects.filter(pk=operation.pk).update(status=OperationStatus.DONE)


def test_the_task_runs_it_and_leaves_what_has_ended(channel: Channel, kind: Raise) -> None:
    operation = start(channel)

    tasks.run_operation(operation.pk)
    tasks.run_operation(operation.pk)

    assert (again(operation).status, priorities()) == (OperationStatus.DONE, [1] * 5)


def test_a_kind_that_must_rest_is_left_alone_until_then(channel: Channel, redis_client: redis.Redis) -> None:
    kind = registered(Resting())
    operation = start(channel, "resting")

    assert runner.run(operation.pk, seconds=20) == 30
    assert (again(operation).done, kind.steps) == (2, 1)
    tasks.run_operation(operation.pk)

    assert (again(operation).done, kind.steps) == (4, 2)
    later = f"{operation_bell(operation.pk).key.removesuffix('0.0')}[1-9]*"
    wait_until(lambda: bool(redis_client.keys(later)), 20)
    assert not redis_client.exists(operation_bell(operation.pk).key)


@pytest.mark.django_db(transaction=True)
def test_who_finds_another_at_work_leaves_it_to_him(channel: Channel, kind: Raise) -> None:
    operation = start(channel)

    with only_one(tasks.OPERATION_LOCK + operation.pk, patience_seconds=0) as is_ours:
        assert is_ours
        in_threads(1, lambda: tasks.run_operation(operation.pk))
        assert (again(operation).done, kind.steps) == (0, 0)

    in_threads(1, lambda: tasks.run_operation(operation.pk))
    assert again(operation).status == OperationStatus.DONE


@pytest.mark.django_db(transaction=True)
def test_two_runners_at_once_do_everything_once(channel: Channel, kind: Raise) -> None:
    """Even without the lock that keeps the tasks apart."""
    make_messages(channel, *(f"m{number}" for number in range(40)))
    operation = start(channel)

    in_threads(3, lambda: runner.run(operation.pk, seconds=20))

    assert (again(operation).status, operation.done, priorities()) == (OperationStatus.DONE, 45, [1] * 45)


def test_the_sweep_rings_for_what_has_not_ended(channel: Channel, kind: Raise, redis_client: redis.Redis) -> None:
    done, stopped, running, stopping = (start(channel) for _ in range(4))
    runner.run(done.pk, seconds=20)
    for operation in (stopping, stopped):
        acts.stop(operation=operation, by="me")
    runner.run_step(stopped.pk)

    tasks.run_operations()

    wait_until(lambda: bool(redis_client.exists(operation_bell(stopping.pk).key)), 20)
    assert redis_client.exists(operation_bell(running.pk).key)
    assert not redis_client.exists(operation_bell(done.pk).key, operation_bell(stopped.pk).key)


def in_threads(number: int, call: object) -> None:
    together = Barrier(number)

    def run() -> None:
        try:
            together.wait(20)
            call()  # type: ignore[operator]
        finally:
            connections.close_all()

    threads = [Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
