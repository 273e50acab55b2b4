"""A small history: something of everything that the lake holds, with text that is hard to carry."""

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from channels_app.models import Consumer, Message
from reports_app.models import LakeSlice
from spark_analytics.lake.places import Lake
from spark_analytics.settings import Settings
from spark_analytics.tables import TABLES
from spark_analytics.verify import Found, verify
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.dlq_app.letters import make_dead
from tests.scheduling_app.later import make_scheduled

ALL_EQUAL = {table.name: [Found.EQUAL] for table in TABLES}
ODD = ["it's", "a\nb", "\\N", "\x1f", "", "日本 é", "<script>", '"quoted"', "50%"]


def make_history() -> Consumer:
    channel, producer = make_channel("odd~._-channel"), make_producer()
    consumer = make_consumer(channel)
    for number, text in enumerate(ODD):
        job = make_job(consumer, producer, payload=text.encode() or b"-")
        Message.objects.filter(pk=job.message_id).update(message_id=f"{number}{text}", content_type=text)
        make_dead(consumer, producer, error=text)
        make_scheduled(channel, producer, f"later {number}{text}")
    return consumer


def found(spark: SparkSession, settings: Settings) -> dict[str, list[Found]]:
    """What `lake verify` says, table by table."""
    said: dict[str, list[Found]] = {table.name: [] for table in TABLES}
    for one in verify(spark, settings, now=datetime.now(UTC)):
        said[one.table.name].append(one.found)
    return said


def paths() -> dict[tuple[int, int], str]:
    return {(one.kind, one.first_id): one.path for one in LakeSlice.objects.all()}


def lake_of(spark: SparkSession, settings: Settings) -> Lake:
    return Lake(spark, settings.lake_url)
