import pytest

from broker_project.cli.checks import ALL_TESTS, pytest_words


@pytest.mark.parametrize(
    ("typed", "run"),
    [
        ([], ALL_TESTS),
        (["tests/cli", "-x"], ["tests/cli", "-x"]),
        (["--chaos"], ["tests/chaos", "--chaos"]),
        (["--chaos", "-k", "redis"], ["tests/chaos", "--chaos", "-k", "redis"]),
        (["tests/chaos/test_redis.py", "--chaos"], ["tests/chaos/test_redis.py", "--chaos"]),
    ],
)
def test_the_words_after_test_are_for_pytest_and_chaos_means_its_folder(typed: list[str], run: list[str]) -> None:
    assert pytest_words(typed) == run
