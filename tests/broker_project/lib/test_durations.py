"""A length of time in words."""

import pytest

from broker_project.lib.durations import in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 seconds"),
        (0.5, "0.5 seconds"),
        (1, "1 second"),
        (59.999, "59.999 seconds"),
        (59.99999999, "1 minute"),
        (90.1, "1 minute, 30.1 seconds"),
        (3599.9999, "1 hour"),
        (7_384.25, "2 hours, 3 minutes, 4.25 seconds"),
        (86_400_000, "1,000 days"),
    ],
)
def test_it_is_told_to_the_millisecond(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
