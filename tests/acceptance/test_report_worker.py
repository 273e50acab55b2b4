"""A report through the whole engine: beat finds a wish that nobody rang for, and a worker with Spark makes it."""

from pathlib import Path

import psycopg

from tests.acceptance.engine import CELERY, WORKER, Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until

# No ring: as if Redis had lost it.
ASK = """
from datetime import timedelta
from django.utils import timezone
from reports_app.models import Report
now = timezone.now()
asked = {"from": (now - timedelta(hours=2)).isoformat(), "to": (now + timedelta(hours=1)).isoformat()}
report = Report.objects.create(asked={**asked, "channels": [], "compare": False, "slaSeconds": 60}, asked_by="staff")
print(report.directory)
"""
ENDED = "SELECT status, error FROM report WHERE status IN ('DONE', 'FAILED')"


def test_a_wish_becomes_a_page(own_engine: Engine, receiver: Receiver) -> None:
    sent = _delivered(own_engine.channel(receiver))
    broker = own_engine.broker
    broker.start(*CELERY, *WORKER, "-c", "2", "-Q", "reports", "-n", "reports@%h", SPARK_NICENESS="0")
    directory = broker.manage("shell", "-v", "0", "-c", ASK)

    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        wait_until(lambda: connection.execute(ENDED).rowcount == 1, 240)
        assert connection.execute(ENDED).fetchall() == [("DONE", "")]
    assert sent in Path(directory, "throughput.csv").read_text()


def _delivered(channel: Channel) -> str:
    location = channel.publish().headers["Location"]
    wait_until(lambda: channel.statuses(location) == ["DELIVERED"], 60)
    return channel.name
