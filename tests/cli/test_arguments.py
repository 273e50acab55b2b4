import argparse

import pytest

from broker_project.cli.__main__ import main, parser
from spark_analytics.arguments import asked_by, words_of

COMMANDS = [
    "up", "down", "restart", "status", "logs", "manage", "key", "secrets",
    "backup", "restore", "demo", "test", "lint", "bench", "report", "lake",
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


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "yesterday"], "'yesterday' is no time"),
        (["--from", "2026-11-02", "--to", "2026-11-01"], "ends after it begins"),
        (["--to", "0001-01-02"], "between the years 1970 and 3000"),
        (["--out", __file__], "cannot write to"),
        (["--out", "/proc/nowhere"], "cannot write to"),
        (["--sla", "0"], "above 0"),
        (["--sla", "soon"], "invalid float value"),
        (["--colour"], "unrecognized arguments"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused_before_anything_starts(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main(["report", *words])
    assert ending.value.code == 2
    assert told in capsys.readouterr().err


def test_a_report_is_asked_for_in_the_same_words_in_a_process_of_its_own() -> None:
    words = ["--from", "2026-11-01T00:30:00+00:00", "--to", "2026-11-02T00:00:00+00:00", "--channel=-x"]
    words += ["--sla", "5.0", "--out", "there", "--compare"]
    options = parser().parse_args(["report", *words])
    assert words_of(options, asked_by(options, parser())) == words


def test_secrets_are_long_and_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert (main(["secrets"]), main(["secrets"])) == (0, 0)
    lines = capsys.readouterr().out.splitlines()
    names = ["SECRET_KEY", "TOKEN_KEYS", "FLOWER_PASSWORD", "POSTGRES_PASSWORD", "REDIS_PASSWORD"]
    assert [line.partition("=")[0] for line in lines] == [*names, *names]
    assert len(set(lines)) == 2 * len(names)
