"""Secrets for production, as files that Docker mounts."""

import stat
from pathlib import Path

import pytest

from broker_project.cli.__main__ import main

NAMES = {
    "secret_key", "token_keys", "flower_password", "postgres_password", "redis_password", "database_url", "redis_url",
}  # fmt: skip


def test_files_hold_one_secret_each_and_the_urls_that_name_them(tmp_path: Path) -> None:
    assert main(["secrets", "--files", str(tmp_path / "secrets")]) == 0
    held = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert held.keys() == NAMES
    assert held["database_url"] == f"postgresql://broker:{held['postgres_password']}@postgres:5432/broker"
    assert held["redis_url"] == f"redis://:{held['redis_password']}@redis:6379/0"


def test_only_their_owner_gets_into_the_directory_and_any_container_can_read_its_file(tmp_path: Path) -> None:
    main(["secrets", "--files", str(tmp_path / "secrets")])
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "secrets").iterdir()} == {0o444}


def test_secrets_that_are_there_are_kept_and_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["secrets", "--files", str(tmp_path)])
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    assert main(["secrets", "--files", str(tmp_path)]) == 1
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before
    said = "".join(capsys.readouterr())
    assert "There are secrets in that directory already" in said
    assert not any(value in said for value in before.values())
