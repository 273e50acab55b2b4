"""test and lint."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker_project import embedded
from broker_project.cli import arguments, foreground
from broker_project.cli.surroundings import TOP

TEST_SETTINGS = "broker_project.settings.test"
# import-linter has no form for python -m, and a script's first line breaks in a path that is long or has spaces.
IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-logo'])"

LINT = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "imports": ["-c", IMPORTS],
    "migrations": ["manage.py", "makemigrations", "--check", "--dry-run"],
}
# What a shell says of a program that a Ctrl-C ended.
INTERRUPTED = 130
# By file: what a module starts once, servers and browsers, is started once. Three, as many tests wait for others.
# In the order of tests/conftest.py: by itself xdist begins with what has most tests, which is the quickest.
ALL_TESTS = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", "--durations", "30"]


@dataclass(frozen=True)
class Step:
    name: str
    code: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:<14}{'failed' if self.code else 'ok':<8}{self.seconds:6.1f} s"


def add_to(commands: arguments.Commands) -> None:
    arguments.add_passing_on(
        commands,
        "test",
        help="run every check, or pytest with your arguments",
        description="Run every check on a PostgreSQL and a Redis of its own; with arguments, pytest alone with those. "
        "--chaos first: the tests that kill and stop parts of a running broker, at length.",
        run=_test,
    )
    lint = commands.add_parser(
        "lint", help="run every check but the tests", description="Run ruff, mypy, import-linter, …"
    )
    lint.set_defaults(run=_lint)


def _test(options: argparse.Namespace) -> int:
    if arguments.asks_for_help(options):
        return 0
    lint = {} if options.arguments else LINT
    return _run(lint | {"pytest": ["-m", "pytest", *pytest_words(options.arguments)]})


def pytest_words(words: list[str]) -> list[str]:
    """An option that only the chaos tests know means their folder."""
    return ["tests/chaos", *words] if words[:1] == ["--chaos"] else words or ALL_TESTS


def _lint(_options: argparse.Namespace) -> int:
    return _run(LINT)


def _run(commands: dict[str, list[str]]) -> int:
    """All of them, whatever fails, until a Ctrl-C; the exit code is that of the first that failed."""
    steps: list[Step] = []
    with _services() as environment:
        for name, words in commands.items():
            steps.append(_step(name, words, environment))
            if steps[-1].code == INTERRUPTED:
                break
    if len(steps) > 1:
        print("\n".join(["", *map(str, steps)]))
    return next((step.code for step in steps if step.code), 0)


def _step(name: str, words: list[str], environment: dict[str, str]) -> Step:
    print(f"--- {name}", flush=True)
    begun = time.monotonic()
    code = foreground.run([sys.executable, *words], environment, cwd=TOP)
    return Step(name, code, time.monotonic() - begun)


@contextmanager
def _services() -> Iterator[dict[str, str]]:
    """Never the user's own database: one that is quick, empty and gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="broker-test-") as name:
        directory = Path(name).resolve()
        # Run by root, the database is another account's, which must get in.
        directory.chmod(0o755)
        with embedded.services(directory, ["postgres", "redis"], durable=False) as urls:
            own = {"BROKER_DATA_DIR": str(directory), "DJANGO_SETTINGS_MODULE": TEST_SETTINGS}
            yield {**os.environ, **own, **urls}
