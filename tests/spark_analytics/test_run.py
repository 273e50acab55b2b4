"""What a run leaves behind when it fails."""

from collections.abc import Generator
from pathlib import Path

import pytest

from spark_analytics.render import Result, Writer
from spark_analytics.run import painted
from tests.spark_analytics.figures import heading, throughput


def test_reports_under_way_are_ended_as_soon_as_one_cannot_be_painted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    def under_way() -> Generator[Result]:
        try:
            yield from (throughput(), throughput())
        finally:
            ended.append(True)

    def fail(*_asked: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(Writer, "paint", fail)
    # While the error is looked at, all that it came through is still there.
    with pytest.raises(OSError, match="no space") as error:
        painted(under_way(), Writer(tmp_path, heading()))
    assert (ended, error.type) == ([True], OSError)
