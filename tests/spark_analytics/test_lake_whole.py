"""An export looks after its lake first: that it is its own and whole, and that no only copy is removed."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pyspark.sql import SparkSession

from channels_app.models import DeliveryJob, Message
from dlq_app import policies, retention
from dlq_app.models import DeadLetterAct
from reports_app.models import LakeKind, LakeMark, LakeOwner, LakeSlice
from reports_app.prune import sweep
from spark_analytics.lake import read
from spark_analytics.lake.export import export
from spark_analytics.lake.lost import SliceLost
from spark_analytics.lake.owner import OtherOwner, UnknownLake
from spark_analytics.manifest import Slice
from spark_analytics.settings import Settings
from spark_analytics.tables import JOB, LETTER_ACT
from spark_analytics.verify import Found
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.reports_app.lake import make_old, make_old_dead
from tests.spark_analytics.exporting import Export
from tests.spark_analytics.odd_rows import found, lake_of, paths

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
OLD, LIVE, NEWER, YOUNG = (f"20261116T{time}aa" for time in ("010000", "020000", "030000", "115900"))


def live_slice(path: str) -> Slice:
    first, last, _ = path.split("-")
    return Slice(1, JOB.kind, int(first), int(last), 1, 0, path, "", None, None, NOW - timedelta(hours=9), None)


@pytest.mark.parametrize(
    ("live", "gone"),
    [
        ([], set()),
        ([f"1-500-{LIVE}"], {f"1-500-{OLD}", f"1-499-{OLD}"}),
        ([f"1-500-{NEWER}"], {f"1-500-{OLD}", f"1-499-{OLD}", f"1-500-{LIVE}"}),
        # Its files are not there: what is there may be all that is left.
        ([f"1-500-{LIVE}bb"], set()),
        ([f"501-900-{LIVE}"], {f"501-800-{OLD}"}),
    ],
)
def test_only_what_was_replaced_by_files_that_are_there_is_rubbish(
    spark: SparkSession, lake: Settings, live: list[str], gone: set[str]
) -> None:
    folder = Path(lake.lake_url) / "job"
    names = {f"1-500-{LIVE}", f"1-500-{OLD}", f"1-499-{OLD}", f"1-500-{NEWER}", f"1-500-{YOUNG}", f"501-800-{OLD}"}
    for name in names | {f"501-900-{LIVE}", "something else"}:
        (folder / name).mkdir(parents=True)
    before = {path.name for path in folder.iterdir()}

    ours = lake_of(spark, lake)
    assert ours.remove_rubbish([live_slice(path) for path in live], ours.listed(), NOW) == len(gone)

    assert before - {path.name for path in folder.iterdir()} == gone


def files_of(lake: Settings) -> set[Path]:
    return set(Path(lake.lake_url).rglob("*"))


def test_a_lake_has_one_database(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_job(make_consumer(make_channel()), make_producer())
    bring()
    before, rows, owner = files_of(lake), list(LakeSlice.objects.all()), LakeOwner.objects.get()
    assert (Path(lake.lake_url) / "_owner").read_text().strip() == owner.owner_id

    # Another database, which has a lake already; then one that has never exported.
    LakeSlice.objects.all().delete()
    LakeOwner.objects.update(owner_id="another")
    with pytest.raises(OtherOwner, match="belongs to another database"):
        bring(now=timezone.now() + timedelta(days=1))
    LakeOwner.objects.all().delete()
    with pytest.raises(OtherOwner):
        bring(now=timezone.now() + timedelta(days=1))
    assert files_of(lake) == before

    # From before lakes were signed.
    (Path(lake.lake_url) / "_owner").unlink()
    with pytest.raises(UnknownLake, match="does not know"):
        bring(now=timezone.now() + timedelta(days=1))
    LakeSlice.objects.bulk_create(rows)
    assert sum(done.slices + done.again for done in bring()) == 0
    assert (Path(lake.lake_url) / "_owner").read_text().strip() == LakeOwner.objects.get().owner_id
    assert files_of(lake) == before


def test_what_a_restored_database_does_not_know_stays(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """The dump names a version that has been replaced since, and nothing of what came later."""
    consumer, producer = make_consumer(make_channel()), make_producer()
    make_job(consumer, producer)
    bring()
    dumped = list(LakeSlice.objects.all())
    DeliveryJob.objects.update(priority=3)
    make_job(consumer, producer)
    bring()
    shutil.rmtree(f"{lake.lake_url}/job/{next(one.path for one in dumped if one.kind == LakeKind.JOB)}")
    since = set(paths().values())
    LakeSlice.objects.all().delete()
    LakeSlice.objects.bulk_create(dumped)
    Message.objects.filter(pk=Message.objects.latest("pk").pk).delete()

    again = {done.table.name: done.again for done in bring(now=timezone.now() + timedelta(hours=2))}

    assert again["job"] == 1
    assert since <= {path.name for path in Path(lake.lake_url).glob("*/*")}
    assert Found.UNREADABLE not in [one for said in found(spark, lake).values() for one in said]


def test_a_lake_that_is_lost_is_exported_again(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_job(make_consumer(make_channel()), make_producer())
    bring()
    shutil.rmtree(lake.lake_url)
    assert {done.table.name: done.again for done in bring()}["job"] == 1
    assert found(spark, lake)["job"] == found(spark, lake)["message"] == [Found.EQUAL]
    assert not LakeMark.objects.exists()
    # Not the rows, but what is made of them.
    LakeSlice.objects.filter(kind=LakeKind.JOB).update(pruned_at=timezone.now())
    shutil.rmtree(f"{lake.lake_url}/rollup_job")
    assert {done.table.name: done.again for done in bring()} == {
        "message": 0, "job": 1, "scheduled": 0, "attempt": 0, "letter_act": 0
    }  # fmt: skip
    assert Path(f"{lake.lake_url}/rollup_job/{LakeSlice.objects.get(kind=LakeKind.JOB).path}").is_dir()


def test_acts_on_letters_that_went_by_age_stay_in_the_lake(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """Roll-ups are lost, and made again with their neighbour in one block; then the only copy itself."""
    consumer = make_consumer(make_channel())
    policies.put(consumer.channel, values={"retention_days": 30}, by="anna")
    letters = [make_old_dead(consumer, "first")]
    bring()
    letters.append(make_old_dead(consumer, "second"))
    bring()
    assert retention.remove_old() == 2
    assert not DeadLetterAct.objects.exists()

    shutil.rmtree(f"{lake.lake_url}/rollup_letter_act")
    assert {done.table.name: done.again for done in bring()}["letter_act"] == 2
    ours, now = lake_of(spark, lake), LakeSlice.objects.filter(kind=LakeKind.LETTER_ACT)
    acts = [row for one in now for row in read.rows(ours, LETTER_ACT, [one.path]).collect()]
    assert {row.job_id for row in acts} == {letter.job_id for letter in letters}
    assert found(spark, lake)["letter_act"] == [Found.EQUAL, Found.EQUAL]

    shutil.rmtree(f"{lake.lake_url}/letter_act")
    with pytest.raises(SliceLost, match="no letter_act/"):
        bring()


def test_a_lake_that_was_pruned_for_is_missed_until_it_is_there_again(
    spark: SparkSession, lake: Settings, bring: Export, tmp_path: Path
) -> None:
    consumer = make_consumer(make_channel(retention_days=30))
    make_old(consumer.channel, "first")
    bring()
    assert sweep.sweep().gone.messages == 1
    make_old(consumer.channel, "second")
    bring()
    moved = replace(lake, lake_url=str(tmp_path / "moved"))
    shutil.move(lake.lake_url, moved.lake_url)

    before = paths()
    with pytest.raises(SliceLost, match=f"no message/{before[LakeKind.MESSAGE, 1]}, and rows of it have left"):
        bring()
    assert not Path(lake.lake_url).exists()
    assert paths() == before
    # Nor is more pruned that nobody has any more.
    assert sweep.sweep().gone.messages == 0

    list(export(spark, moved, everything=True, now=timezone.now()))
    assert sweep.sweep().gone.messages == 1
    assert {one for said in found(spark, moved).values() for one in said} == {Found.EQUAL}
    assert sum(one.row_count for one in LakeSlice.objects.filter(kind=LakeKind.MESSAGE)) == 2
