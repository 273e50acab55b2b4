import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_project.cli import surroundings


@pytest.fixture(autouse=True)
def top(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A repository with a .env of its own, and the environment put back afterwards."""
    before = dict(os.environ)
    for name in ("BROKER_DATA_DIR", "DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    monkeypatch.setattr(surroundings, "TOP", tmp_path / "top")
    (tmp_path / "top").mkdir()
    yield tmp_path / "top"
    os.environ.clear()
    os.environ.update(before)


def test_without_a_word_the_data_is_in_the_repository_and_both_services_are_ours(top: Path) -> None:
    surroundings.load()
    assert surroundings.data_dir() == top / ".broker"
    assert surroundings.embedded_services() == ["postgres", "redis"]


def test_what_is_in_the_env_file_counts_and_its_paths_are_the_repositorys(top: Path) -> None:
    (top / ".env").write_text("BROKER_DATA_DIR=elsewhere\nDATABASE_URL=postgresql://mine/x\n")
    surroundings.load()
    assert surroundings.data_dir() == top / "elsewhere"
    assert surroundings.embedded_services() == ["redis"]


def test_the_environment_wins_and_its_paths_are_the_callers(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (top / ".env").write_text("BROKER_DATA_DIR=elsewhere\nDATABASE_URL=postgresql://mine/x\n")
    os.environ |= {"BROKER_DATA_DIR": "here", "DATABASE_URL": ""}
    monkeypatch.chdir(tmp_path)
    surroundings.load()
    assert surroundings.data_dir() == tmp_path / "here"
    assert surroundings.embedded_services() == ["postgres", "redis"]


def test_a_database_whose_url_is_in_a_file_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://mine/x\n")
    os.environ["DATABASE_URL_FILE"] = str(tmp_path / "url")
    surroundings.load()
    assert surroundings.embedded_services() == ["redis"]
    assert os.environ["DATABASE_URL"] == "postgresql://mine/x"
