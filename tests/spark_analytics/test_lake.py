"""What is in the lake is what is in the database, whatever happens meanwhile."""

import shutil
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from django.db.models import F
from django.utils import timezone
from pyarrow.parquet import read_metadata
from pyspark.sql import SparkSession

from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message, Producer
from dlq_app import services
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetterAct
from reports_app.models import LakeKind, LakeMark, LakeSlice, LakeWatermark
from scheduling_app.models import ScheduledMessage
from spark_analytics import manifest
from spark_analytics.lake import plan, read
from spark_analytics.lake.__main__ import main
from spark_analytics.lake.export import export
from spark_analytics.lake.status import status
from spark_analytics.manifest import Ids
from spark_analytics.settings import Settings
from spark_analytics.tables import JOB, MESSAGE, SCHEDULED, TABLES
from spark_analytics.verify import Found
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.spark_analytics.exporting import Export, in_background, wait_until
from tests.spark_analytics.odd_rows import ALL_EQUAL, found, lake_of, make_history, paths

pytestmark = pytest.mark.django_db(transaction=True)
INSERT_JOB = """
INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status) VALUES (%s, %s, %s, 0, 1001)
"""


def test_everything_is_in_the_lake_as_it_is(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    received_at = list(Message.objects.values_list("received_at", flat=True))
    bring()
    assert found(spark, lake) == ALL_EQUAL
    before = paths()
    assert [done.slices + done.again for done in bring()] == [0] * len(TABLES)
    assert paths() == before
    files = list(Path(lake.lake_url, "message", before[LakeKind.MESSAGE, 1]).rglob("*.parquet"))
    assert {file.parent.name for file in files} == {f"day={at:%Y-%m-%d}" for at in received_at}
    assert {read_metadata(file).row_group(0).column(0).compression for file in files} == {"ZSTD"}
    rows = read.rows(lake_of(spark, lake), MESSAGE, [before[LakeKind.MESSAGE, 1]])
    assert {row.content_type for row in rows.collect()} == set(Message.objects.values_list("content_type", flat=True))


def test_a_lake_may_be_a_url_with_a_scheme(spark: SparkSession, settings_of_lake: Settings, tmp_path: Path) -> None:
    lake = replace(settings_of_lake, lake_url=(tmp_path / "lake").as_uri())
    make_history()
    first, again = (list(export(spark, lake, everything=True, now=timezone.now())) for _ in range(2))
    assert sum(done.slices for done in first) == len(TABLES)
    assert [done.slices + done.again for done in again] == [0] * len(TABLES)
    assert found(spark, lake) == ALL_EQUAL
    assert {path.name for path in (tmp_path / "lake").iterdir()} >= {table.name for table in TABLES}


def test_an_empty_database_is_an_empty_lake(spark: SparkSession, lake: Settings, bring: Export) -> None:
    assert [done.rows for done in bring()] == [0] * len(TABLES)
    assert found(spark, lake) == {table.name: [] for table in TABLES}
    with psycopg.connect(lake.database_url) as connection:
        assert {(one.rows, one.tail) for one in status(connection)} == {(0, 0)}


def test_today_stays_in_the_database_until_it_is_over(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    bring(everything=False)
    assert not LakeSlice.objects.exists()
    with psycopg.connect(lake.database_url) as connection:
        assert manifest.end_of(connection, JOB) == 0
        bring(everything=False, now=timezone.now() + timedelta(days=1))
        assert manifest.end_of(connection, JOB) == DeliveryJob.objects.latest("pk").pk
        today = datetime.now(UTC).date()
        assert len(read.slices(connection, JOB, today - timedelta(days=1), today)) == 1
        assert read.slices(connection, JOB, date(2020, 1, 1), date(2020, 1, 2)) == []


def test_a_day_that_is_over_comes_in_though_today_has_begun(lake: Settings, bring: Export) -> None:
    consumer = make_history()
    yesterday, now = timezone.now(), timezone.now() + timedelta(days=1)
    last = DeliveryJob.objects.latest("pk").pk
    today = make_job(consumer, Producer.objects.get())
    DeliveryJob.objects.filter(pk=today.pk).update(created_at=now)

    bring(everything=False, now=now)

    assert yesterday.date() < now.date()
    with psycopg.connect(lake.database_url) as connection:
        assert manifest.end_of(connection, JOB) == last


def test_of_a_day_that_is_not_over_no_slice_is_made_however_many_rows_it_has(
    spark: SparkSession, lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_history()
    monkeypatch.setattr(plan, "SLICE_IDS", 4)
    ids = list(Message.objects.order_by("pk").values_list("pk", flat=True))
    Message.objects.filter(pk__lte=ids[5]).update(received_at=timezone.now() - timedelta(days=2))
    bring(everything=False)
    assert list(LakeSlice.objects.order_by("pk").values_list("last_id", flat=True)) == [ids[0] + 3, ids[5]]
    assert {one for several in found(spark, lake).values() for one in several} == {Found.EQUAL, Found.WAITING}


def test_what_is_redriven_is_exported_anew(spark: SparkSession, lake: Settings, bring: Export) -> None:
    consumer = make_history()
    bring()
    before = paths()
    services.requeue_all(chosen=LetterFilter(channel_id=consumer.channel_id), by="tests")
    said = found(spark, lake)
    assert (said["job"], said["message"], said["attempt"]) == ([Found.CHANGED], [Found.EQUAL], [Found.EQUAL])
    again = {done.table.name: done.again for done in bring()}
    assert again == {"message": 0, "job": 1, "scheduled": 0, "attempt": 0, "letter_act": 0}
    assert not LakeMark.objects.exists()
    assert found(spark, lake)["job"] == [Found.EQUAL]
    assert {kind for (kind, first), path in paths().items() if before.get((kind, first)) not in (None, path)} == {2}


def test_a_row_that_was_changed_behind_all_backs_is_found(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    bring()
    with psycopg.connect(lake.database_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE delivery_attempt SET duration_ms = 7 WHERE id = (SELECT max(id) FROM delivery_attempt)"
        )
        connection.execute("DELETE FROM message WHERE id = (SELECT min(id) FROM message)")
    said = found(spark, lake)
    assert (said["attempt"], said["message"]) == ([Found.DIFFERENT], [Found.DIFFERENT])
    assert said["scheduled"] == [Found.EQUAL]


def test_roll_ups_of_other_rows_are_found(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """They are what reports are made from."""
    consumer, producer = make_consumer(make_channel()), make_producer()
    make_job(consumer, producer)
    bring()
    before = Path(lake.lake_url, "rollup_job", paths()[LakeKind.JOB, 1])
    DeliveryJob.objects.update(priority=3)
    bring()
    after = Path(lake.lake_url, "rollup_job", paths()[LakeKind.JOB, 1])
    shutil.rmtree(after)
    shutil.copytree(before, after)
    assert found(spark, lake)["job"] == [Found.DIFFERENT]
    shutil.rmtree(after)
    assert found(spark, lake)["job"] == [Found.UNREADABLE]


def test_a_slice_whose_files_are_gone_is_found(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_job(make_consumer(make_channel()), make_producer())
    bring()
    shutil.rmtree(f"{lake.lake_url}/message")
    said = found(spark, lake)
    assert (said["message"], said["job"]) == ([Found.UNREADABLE], [Found.EQUAL])


def test_a_history_that_was_never_exported_is_missing(
    lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", lake.database_url)
    monkeypatch.setenv("LAKE_URL", lake.lake_url)
    make_history()
    Message.objects.update(received_at=timezone.now() - timedelta(days=3))
    others = sum(model.objects.count() for model in (DeliveryJob, ScheduledMessage, DeliveryAttempt, DeadLetterAct))
    assert main(["verify"]) == 1
    assert f"{Message.objects.count()} rows missing, {others} rows not exported yet" in capsys.readouterr().out
    bring(everything=False)
    assert main(["verify"]) == 0
    today = datetime.now(UTC).date()
    assert main(["verify", "--to", str(today - timedelta(days=1))]) == 0
    assert main(["verify", "--to", str(today)]) == 1
    assert "Not proven: rows not exported yet." in (said := capsys.readouterr().out)
    assert f"0 rows missing, {others} rows not exported yet" in said
    LakeSlice.objects.filter(kind=LakeKind.MESSAGE).update(first_id=F("last_id"))
    assert main(["verify"]) == 1
    assert f"{Message.objects.count() - 1} rows missing" in capsys.readouterr().out


def test_days_that_end_before_they_begin_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["verify", "--from", "2026-12-01", "--to", "2026-11-01"])
    assert refused.value.code == 2
    assert "--from is after --to" in capsys.readouterr().err


def test_roll_ups_are_written_beside_the_rows(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    bring()
    today = datetime.now(UTC).date()
    with psycopg.connect(lake.database_url) as connection:
        slices = read.slices(connection, MESSAGE, today - timedelta(days=1), today)
        kept = read.read_rollups(lake_of(spark, lake), MESSAGE, slices)
        assert sum(row["messages"] for row in kept.collect()) == Message.objects.count()
        assert read.read_rollups(lake_of(spark, lake), MESSAGE, []).isEmpty()


def test_a_slice_of_messages_for_later_is_read_for_the_days_on_which_they_are_due(
    lake: Settings, bring: Export
) -> None:
    make_history()
    due = timezone.now() + timedelta(days=30)
    ScheduledMessage.objects.filter(pk=ScheduledMessage.objects.earliest("pk").pk).update(due_at=due)
    bring()
    with psycopg.connect(lake.database_url) as connection:
        for day, count in ((due, 1), (timezone.now(), 1), (due + timedelta(days=2), 0), (due - timedelta(days=40), 0)):
            assert len(read.slices(connection, SCHEDULED, day.date(), day.date())) == count


def test_a_transaction_open_across_the_export_is_waited_for(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """It has drawn an id below the newest, and changed a row before the watermark was there."""
    consumer = make_history()
    job = DeliveryJob.objects.earliest("pk")
    with psycopg.connect(lake.database_url) as late:
        late.execute("UPDATE delivery_job SET priority = 5 WHERE id = %s", [job.pk])
        late.execute(INSERT_JOB, [job.message_id, job.channel_id, job.consumer_id])
        make_job(consumer, Message.objects.earliest("pk").producer)
        with in_background(bring):
            wait_until(LakeWatermark.objects.filter(kind=LakeKind.JOB).exists)
            late.commit()
    assert found(spark, lake)["job"] == [Found.EQUAL]
    assert LakeSlice.objects.get(kind=LakeKind.JOB).row_count == DeliveryJob.objects.count()


def test_a_row_below_all_that_are_seen_is_waited_for(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """The first export, and the smallest id is in a transaction that has not ended."""
    consumer, producer = make_consumer(make_channel()), make_producer()
    gone = make_job(consumer, producer)
    DeliveryJob.objects.filter(pk=gone.pk).delete()
    with psycopg.connect(lake.database_url) as late:
        late.execute(INSERT_JOB, [gone.message_id, gone.channel_id, gone.consumer_id])
        seen = make_job(consumer, producer)
        with in_background(bring):
            wait_until(LakeWatermark.objects.filter(kind=LakeKind.JOB).exists)
            late.commit()
    assert DeliveryJob.objects.earliest("pk").pk < seen.pk
    assert LakeSlice.objects.get(kind=LakeKind.JOB).row_count == 2
    assert found(spark, lake)["job"] == [Found.EQUAL]


def test_rows_that_change_while_exporting_are_brought_by_the_next(
    spark: SparkSession, lake: Settings, bring: Export
) -> None:
    make_history()
    with in_background(bring) as running:
        while running.is_alive():
            job = DeliveryJob.objects.order_by("?")[:3]
            DeliveryJob.objects.filter(pk__in=[one.pk for one in job]).update(status=JobStatus.DELIVERED, reason=None)
            Message.objects.filter(pk=job[0].message_id).update(priority=9)
    assert Found.DIFFERENT not in [one for said in found(spark, lake).values() for one in said]
    bring()
    assert found(spark, lake) == ALL_EQUAL


def test_rows_that_were_pruned_stay_in_the_lake(spark: SparkSession, lake: Settings, bring: Export) -> None:
    make_history()
    bring()
    gone = DeliveryJob.objects.earliest("pk")
    kept = LakeSlice.objects.get(kind=LakeKind.JOB).row_count
    DeliveryAttempt.objects.filter(job=gone).delete()
    DeliveryJob.objects.filter(pk=gone.pk).delete()
    LakeSlice.objects.filter(kind=LakeKind.JOB).update(pruned_at=timezone.now())
    assert found(spark, lake)["job"] == [Found.EQUAL]
    DeliveryJob.objects.update(priority=3)
    assert found(spark, lake)["job"] == [Found.CHANGED]
    bring()
    assert found(spark, lake)["job"] == [Found.EQUAL]
    made = LakeSlice.objects.get(kind=LakeKind.JOB)
    assert made.row_count == kept
    rows = {row.id: row.priority for row in read.rows(lake_of(spark, lake), JOB, [made.path]).collect()}
    assert rows.pop(gone.pk) == 0
    assert set(rows.values()) == {3}


def test_payloads_are_in_the_lake_if_asked_for(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """What was exported without them is exported anew; a payload that differs is found."""
    make_history()
    bring()
    asked = replace(lake, payloads=True)
    again = {one.table.name: one.again for one in export(spark, asked, everything=True, now=timezone.now())}
    assert again == {"message": 1, "job": 0, "scheduled": 1, "attempt": 0, "letter_act": 0}
    files = spark.read.parquet(f"{lake.lake_url}/message/{LakeSlice.objects.get(kind=LakeKind.MESSAGE).path}")
    kept = {row.id: bytes(row.payload) for row in files.collect()}
    assert kept == {message.pk: bytes(message.payload) for message in Message.objects.all()}
    assert found(spark, lake) == ALL_EQUAL
    assert not sum(one.again for one in export(spark, asked, everything=True, now=timezone.now()))
    with psycopg.connect(lake.database_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE message SET payload = 'y' WHERE payload = '-'")
    assert found(spark, lake)["message"] == [Found.DIFFERENT]


def test_payloads_are_read_in_parts_that_a_reader_can_hold(
    spark: SparkSession, lake: Settings, bring: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_history()
    monkeypatch.setattr(plan, "PART_BYTES", 40)
    Message.objects.update(payload=b"x" * 30)
    list(export(spark, replace(lake, payloads=True), everything=True, now=timezone.now()))
    [made] = LakeSlice.objects.filter(kind=LakeKind.MESSAGE)
    parts = plan.parts(lake.reads_url, MESSAGE.wide(), Ids(made.first_id, made.last_id))
    assert parts[0].first == made.first_id
    assert parts[-1].last == made.last_id
    assert all(after.first == before.last + 1 for before, after in pairwise(parts))
    assert max(Message.objects.filter(pk__range=(one.first, one.last)).count() for one in parts) == 2
    assert len(list(Path(lake.lake_url, "message", made.path).rglob("*.parquet"))) == len(parts)
    LakeSlice.objects.update(pruned_at=timezone.now())
    assert found(spark, lake) == ALL_EQUAL


def test_payloads_that_are_in_the_lake_stay_there(spark: SparkSession, lake: Settings, bring: Export) -> None:
    """They are not asked for any more, the message has left the database, and its slice is exported anew."""
    make_history()
    list(export(spark, replace(lake, payloads=True), everything=True, now=timezone.now()))
    gone = Message.objects.earliest("pk")
    with psycopg.connect(lake.database_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("DELETE FROM message WHERE id = %s", [gone.pk])
    LakeSlice.objects.filter(kind=LakeKind.MESSAGE).update(pruned_at=timezone.now())
    Message.objects.update(priority=1)
    bring()
    [made] = LakeSlice.objects.filter(kind=LakeKind.MESSAGE)
    rows = spark.read.parquet(f"{lake.lake_url}/message/{made.path}").collect()
    assert {bytes(row.payload) for row in rows if row.id == gone.pk} == {bytes(gone.payload)}
    assert found(spark, lake)["message"] == [Found.EQUAL]
