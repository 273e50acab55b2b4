from datetime import UTC, datetime

from channels_app.pull.lease import Leased
from scheduling_app.grpc.held import Held, key_of


def job(number: int, attempt: int = 1, payload: bytes = b"") -> Leased:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Leased(number, attempt, 0, now, f"m-{number}", payload, "", {}, now)


def held_with(*events: tuple[str, Leased], most: int = 10, most_bytes: int = 100) -> Held:
    """All of them sent."""
    held = Held(most, most_bytes)
    held.add(one for _, one in events)
    assert all(held.goes(event_id, one) for event_id, one in events)
    return held


def test_an_event_is_answered_for_once() -> None:
    held = held_with(("a", job(1)))
    assert held.take("a") == job(1)
    assert held.take("a") is None
    assert held.take("b") is None


def test_two_events_with_one_id_are_answered_for_in_their_order() -> None:
    held = held_with(("a", job(1)), ("a", job(2)))
    assert [held.take("a"), held.take("a")] == [job(1), job(2)]


def test_there_is_room_again_when_half_has_been_answered_for() -> None:
    held = held_with(*((str(number), job(number)) for number in range(4)), most=4)
    assert (held.room, held.has_room.is_set()) == (0, False)
    held.take("0")
    assert (held.room, held.has_room.is_set()) == (1, False)
    held.take("1")
    assert (held.room, held.has_room.is_set()) == (2, True)


def test_a_subscriber_of_one_event_at_a_time_gets_the_next_after_its_answer() -> None:
    assert Held(1, 100).has_room.is_set()
    held = held_with(("a", job(1)), most=1)
    assert not held.has_room.is_set()
    held.take("a")
    assert held.has_room.is_set()


def test_bytes_count_as_well_and_are_not_kept() -> None:
    held = held_with(("a", job(1, payload=b"x" * 60)), ("b", job(2, payload=b"x" * 30)))
    assert (held.room_bytes, held.has_room.is_set()) == (10, False)
    assert [one.payload for one in held.jobs] == [b"", b""]
    held.take("a")
    assert (held.room_bytes, held.has_room.is_set()) == (70, True)


def test_what_is_leased_and_not_sent_is_held() -> None:
    held = Held(4, 100)
    held.add([job(1), job(2)])
    assert (held.jobs, held.room, held.first_sent) == ([job(1), job(2)], 2, None)
    held.forget([key_of(job(1))])
    assert not held.goes("a", job(1))
    assert held.goes("b", job(2))
    assert (held.jobs, held.first_sent) == ([job(2)], job(2))


def test_what_was_ended_by_another_is_forgotten() -> None:
    held = held_with(("other", job(0)), ("same", job(1)), ("same", job(2)))
    held.forget([key_of(job(0)), key_of(job(2))])
    assert held.jobs == [job(1)]
    assert not held.is_empty.is_set()
    held.take("same")
    assert held.is_empty.is_set()


def test_a_lease_that_is_over_takes_no_newer_one_of_its_job_along() -> None:
    held = held_with(("a", job(1)), ("a", job(1, attempt=2)))
    held.forget([key_of(job(1))])
    assert held.jobs == [job(1, attempt=2)]
