"""What goes wrong around a command is told in a line, and ends it with exit code 1."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_analytics.lake.__main__
from spark_analytics.__main__ import main as report
from spark_analytics.lake.__main__ import main as lake_command
from spark_analytics.lake.export import alone
from spark_analytics.settings import Settings
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.spark_analytics.exporting import Export

pytestmark = pytest.mark.django_db(transaction=True)
NOBODY = "postgresql://broker@127.0.0.1:9/broker"


@pytest.fixture
def told(lake: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job, and the commands know where it is."""
    make_job(make_consumer(make_channel()), make_producer())
    monkeypatch.setenv("DATABASE_URL", lake.database_url)
    monkeypatch.setenv("LAKE_URL", lake.lake_url)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_an_archive_where_none_can_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert lake_command(["pack", str(tmp_path / "nowhere" / "x.tar.gz")]) == 1
    assert one_line(capsys).startswith("broker: [Errno 2] No such file or directory")


def test_a_lake_in_a_place_that_spark_has_no_library_for(
    spark: SparkSession, told: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKE_URL", "s3a://bucket/lake")
    assert lake_command(["export", "--all"]) == 1
    assert "S3AFileSystem not found" in one_line(capsys)


def test_a_replica_that_is_away(
    spark: SparkSession, told: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ANALYTICS_DATABASE_URL", NOBODY)
    assert report(["report", "--out", str(tmp_path / "out")]) == 1
    assert "127.0.0.1" in one_line(capsys)


def test_a_channel_that_is_not_there(told: None, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ending:
        report(["report", "--channel", "nope", "--out", str(tmp_path / "out")])
    assert ending.value.code == 2
    assert capsys.readouterr().err.endswith("broker report: error: There is no channel nope.\n")
    assert not (tmp_path / "out").exists()


def test_a_place_to_write_that_is_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as ending:
        report(["report", "--out", str(tmp_path / "file" / "out")])
    assert ending.value.code == 2
    assert "Not a directory" in capsys.readouterr().err


def test_a_second_export_is_refused_before_spark_starts(
    told: None, lake: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spark_analytics.lake.__main__, "open_session", pytest.fail)
    with alone(lake.database_url):
        assert lake_command(["export"]) == 1
    assert one_line(capsys) == "broker: Another export is running."


def test_a_day_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        lake_command(["verify", "--from", "foo"])
    assert "'foo' is no day: write 2026-11-01" in capsys.readouterr().err


def test_nothing_to_prove_is_said(
    spark: SparkSession, lake: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", lake.database_url)
    monkeypatch.setenv("LAKE_URL", lake.lake_url)
    assert lake_command(["verify"]) == 0
    assert "nothing to prove" in capsys.readouterr().out


def test_a_lake_whose_files_are_gone(
    told: None, lake: Settings, bring: Export, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bring()
    shutil.rmtree(lake.lake_url)
    assert report(["report", "--out", str(tmp_path / "out")]) == 1
    assert one_line(capsys).startswith("report: [PATH_NOT_FOUND] Path does not exist")
