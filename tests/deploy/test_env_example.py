""".env.example and the settings say the same: no knob, default or sentence can drift apart."""

import re
from dataclasses import dataclass
from itertools import groupby

import pytest
from environs import Env

from tests.deploy.knobs import TOP, Knob, read_knobs

KNOBS = read_knobs()
COMPOSE = "docker-compose.yml"
HEADER = re.compile(r"# == (\S+) ==")
SHOWN = re.compile(r"# ([A-Z][A-Z_]+)=(.*)")


@dataclass(frozen=True)
class Entry:
    file: str
    sentence: str
    name: str
    value: str


def _entries() -> list[Entry]:
    file, before, entries = "", "", []
    for line in (TOP / ".env.example").read_text().splitlines():
        if header := HEADER.fullmatch(line):
            file = header[1]
        elif shown := SHOWN.fullmatch(line):
            entries.append(Entry(file, before.removeprefix("# "), shown[1], shown[2]))
        before = line
    return entries


ENTRIES = {entry.name: entry for entry in _entries()}


def test_every_knob_is_shown_once_under_the_file_that_reads_it() -> None:
    shown = sorted((entry.file, entry.name) for entry in _entries() if entry.file != COMPOSE)
    assert shown == sorted((f"broker_project/settings/{knob.file}", knob.name) for knob in KNOBS.values())


def test_the_knobs_of_a_file_stand_together() -> None:
    files = [file for file, _ in groupby(_entries(), key=lambda entry: entry.file)]
    assert len(files) == len(set(files))


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS)
def test_the_sentence_shown_is_the_one_in_the_settings(knob: Knob) -> None:
    assert knob.sentence.endswith("."), "a knob needs a sentence in the line above it"
    assert ENTRIES[knob.name].sentence == knob.sentence


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS)
def test_the_value_shown_is_the_default(knob: Knob, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the settings would read it: 1048576 is 1024 * 1024."""
    shown = ENTRIES[knob.name].value
    if knob.required:
        assert shown == "", "there is no default, and no secret belongs here"
        return
    monkeypatch.setenv(knob.name, shown)
    assert getattr(Env(), knob.parser)(knob.name) == knob.default


def test_nothing_is_set_until_somebody_uncomments_it() -> None:
    lines = (TOP / ".env.example").read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_the_variables_of_docker_compose_are_shown_too() -> None:
    used = set(re.findall(r"\$\{(\w+)", (TOP / COMPOSE).read_text()))
    assert used <= ENTRIES.keys()
    assert {entry.name for entry in ENTRIES.values() if entry.file == COMPOSE} == used - KNOBS.keys()
