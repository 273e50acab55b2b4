"""Programs of the benchmark in processes of their own: what they are told and what they say is JSON."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.errors import NotMeasured
from broker_project.cli.surroundings import TOP


def ask(module: str, told: object, environment: Mapping[str, str] | None = None) -> Any:
    """Run it to its end; returns what its last line says."""
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(told)],
        check=False,
        cwd=TOP,
        env=environment,
        capture_output=True,
        text=True,
        start_new_session=True,
    )
    if done.returncode:
        last_words = "\n".join(done.stderr.splitlines()[-10:])
        raise NotMeasured(f"{module} failed:\n{last_words}")
    return json.loads(done.stdout.splitlines()[-1])


@contextmanager
def running(module: str, told: object = None) -> Iterator[Any]:
    """A program in the background; yields what its first line says."""
    words = [] if told is None else [json.dumps(told)]
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words], cwd=TOP, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def under_way(module: str, told: object) -> Iterator[None]:
    """A program that goes on for as long as the block lasts; what it would say at its own end is not heard."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, json.dumps(told)], cwd=TOP, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
        if process.poll() is not None:
            raise NotMeasured(f"{module} ended before its time.")
    finally:
        process.kill()
        process.wait()
