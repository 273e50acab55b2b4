import argparse

import pytest

from broker_project.cli.__main__ import main, parser

COMMANDS = [
    "up", "down", "restart", "status", "logs", "manage", "key", "secrets",
    "backup", "restore", "lake", "test", "lint", "bench", "report",
]  # fmt: skip


@pytest.mark.parametrize("words", [[], ["--help"], *([command, "--help"] for command in COMMANDS)])
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main(words)
    except SystemExit as ending:
        code = ending.code
    assert code == 0
    assert "usage: broker" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["-k", "name", "-x"], ["--", "-v"], ["shell", "-c", "print()"], []])
def test_what_follows_a_command_that_passes_on_is_passed_on_untouched(words: list[str]) -> None:
    assert parser().parse_args(["manage", *words]).arguments == words


@pytest.mark.parametrize("port", ["0", "65534", "eighty"])
def test_a_port_without_room_for_the_next_two_is_refused(port: str) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["up", "--port", port])


def test_defaults_are_a_broker_of_this_machine_alone() -> None:
    options = parser().parse_args(["up"])
    assert isinstance(options, argparse.Namespace)
    assert (options.host, options.port, options.background) == ("127.0.0.1", 8000, False)


def test_a_command_of_a_later_version_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report"]) == 2
    assert "not part of this version" in capsys.readouterr().err


def test_secrets_are_long_and_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["secrets"]), main(["secrets"])) == (0, 0)
    lines = capsys.readouterr().out.splitlines()
    names = ["SECRET_KEY", "TOKEN_KEYS", "FLOWER_PASSWORD", "POSTGRES_PASSWORD", "REDIS_PASSWORD"]
    assert [line.partition("=")[0] for line in lines] == [*names, *names]
    assert len(set(lines)) == 2 * len(names)
