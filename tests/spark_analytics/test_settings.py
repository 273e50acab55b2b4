"""Where Spark's part finds the databases: in variables, or in the files that they name."""

from pathlib import Path

import pytest

from spark_analytics.errors import NoSecret
from spark_analytics.lake.__main__ import main
from spark_analytics.settings import from_environment


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of DATABASE_URL_FILE; the variable says something else."""
    path = tmp_path / "database_url"
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@nowhere.invalid/none")
    monkeypatch.setenv("DATABASE_URL_FILE", str(path))
    monkeypatch.delenv("ANALYTICS_DATABASE_URL", raising=False)
    return path


def test_the_url_in_a_file_wins(secret: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret.write_text("postgresql://here/x\n")
    assert from_environment().reads_url == from_environment().database_url == "postgresql://here/x"
    (tmp_path / "replica").write_text("postgresql://there/x\n")
    monkeypatch.setenv("ANALYTICS_DATABASE_URL_FILE", str(tmp_path / "replica"))
    assert from_environment().reads_url == "postgresql://there/x"
    assert from_environment().database_url == "postgresql://here/x"


def test_the_lake_s_command_finds_the_database_of_a_file(
    secret: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    secret.write_text(database_url)
    assert main(["status"]) == 0
    assert "0 slices, no days" in capsys.readouterr().out


@pytest.mark.parametrize("held", [b"", b" \n", b"hidden \xff"])
def test_a_file_that_holds_no_url_is_refused_without_a_word_of_it(secret: Path, held: bytes) -> None:
    secret.write_bytes(held)
    with pytest.raises(NoSecret) as refused:
        from_environment()
    assert str(refused.value) == f"DATABASE_URL_FILE: {secret} is empty or not text."


def test_a_file_that_cannot_be_read_ends_the_command(secret: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 1
    assert f"DATABASE_URL_FILE: {secret} cannot be read: No such file" in capsys.readouterr().err


def test_a_lake_is_a_directory_beside_the_rest_unless_told(
    secret: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secret.write_text("postgresql://here/x\n")
    monkeypatch.setenv("BROKER_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("LAKE_URL", raising=False)
    assert from_environment().lake_url == str(tmp_path / "lake")
    monkeypatch.setenv("LAKE_URL", "s3a://bucket/lake/")
    assert from_environment().lake_url == "s3a://bucket/lake"
