"""Time on a line: to scale where something happens, cut where nothing does for long."""

import pytest

from watch_app.explorer.axis import Axis, axis, duration, told_apart


def line(times: list[float], busy: list[tuple[float, float]] | None = None) -> Axis:
    return axis(times, busy or [], left=100, width=800)


def test_a_line_begins_and_ends_at_its_ends_and_time_only_moves_right() -> None:
    tries = [(0.01, 0.05), (1.05, 1.2), (3.2, 33.2), (86_433.2, 86_433.3)]
    drawn = line([0, 0.005, 90_000], tries)
    points = sorted({0, 0.005, 90_000, *(end for pair in tries for end in pair)})
    places = [drawn.at(point) for point in points]
    assert places[0] == 100
    assert places[-1] == pytest.approx(900)
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_what_is_in_proportion_is_to_scale() -> None:
    drawn = line([0, 1, 2, 4])
    assert drawn.cuts == []
    assert [drawn.at(at) for at in (0, 1, 2, 4)] == [100, 300, 500, 900]


def test_a_long_rest_is_cut_and_says_its_length() -> None:
    drawn = line([0], [(0.01, 0.02), (3600.02, 3600.03)])
    assert [round(cut.seconds) for cut in drawn.cuts] == [3600]
    # What is left is to one scale: both tries are as long.
    first, second = (drawn.at(end) - drawn.at(start) for start, end in ((0.01, 0.02), (3600.02, 3600.03)))
    assert first == pytest.approx(second)
    assert first > 200


def test_equal_rests_between_short_tries_are_all_cut() -> None:
    tries = [(float(number), number + 0.005) for number in range(6)]
    drawn = line([], tries)
    assert len(drawn.cuts) == 5


def test_a_long_try_is_never_cut() -> None:
    drawn = line([0], [(0.0, 86_400.0), (86_400.1, 86_400.2)])
    assert drawn.cuts == []


def test_many_cuts_leave_room_for_what_happens() -> None:
    tries = [(number * 100.0, number * 100 + 0.01) for number in range(100)]
    drawn = line([], tries)
    assert len(drawn.cuts) == 99
    assert sum(cut.right - cut.left for cut in drawn.cuts) <= 0.6 * 800 + 1


@pytest.mark.parametrize("times", [[], [5.0], [5.0, 5.0]])
def test_a_single_moment_has_a_place(times: list[float]) -> None:
    drawn = line(times)
    assert 100 <= drawn.at(5.0) <= 900
    assert drawn.grid()


def test_the_grid_is_a_round_number_of_steps() -> None:
    drawn = line([0, 0.008])
    assert drawn.step == pytest.approx(0.001)
    assert len(drawn.grid()) == 9
    assert line([0, 86_400]).step == 20_000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 ms"),
        (0.0054, "5 ms"),
        (1.24, "1.2 s"),
        (7, "7 s"),
        (59.97, "60 s"),
        (123, "2 min 3 s"),
        (3600, "1 h"),
        (15_000, "4 h 10 min"),
        (266_400, "3 d 2 h"),
    ],
)
def test_a_duration_is_told_in_the_units_that_matter(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0, 1.2, 3.254, 3.294], ["0 ms", "1.2 s", "3.254 s", "3.294 s"]),
        ([0.0571, 0.0573], ["57.10 ms", "57.30 ms"]),
        ([123.1, 123.4], ["2 min 3.100 s", "2 min 3.400 s"]),
        ([15_000, 15_009.5], ["4 h 10 min 0.000 s", "4 h 10 min 9.500 s"]),
    ],
)
def test_times_that_would_be_told_alike_have_more_digits(times: list[float], words: list[str]) -> None:
    assert told_apart(times) == words
