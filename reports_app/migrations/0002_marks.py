"""UPDATEs of what the lake may hold leave a mark, beside what they count."""

from importlib import import_module

from django.db import migrations

counters = import_module("channels_app.migrations.0003_state_and_counter_triggers")
partitions = import_module("channels_app.migrations.0005_partitions")
scheduled = import_module("scheduling_app.migrations.0001_initial")

# The table, its kind in the lake, and what its rows count as: all of them, and those of some partition but 0.
MARKED = (
    ("message", 1, [(counters.MESSAGE, "")]),
    ("delivery_job", 2, [(partitions.JOB, ""), (partitions.BY_PARTITION, " WHERE partition <> 0")]),
    ("scheduled_message", 3, [(scheduled.SCHEDULED, "")]),
)


def moved(counted: list[tuple[str, str]]) -> str:
    """As before, to the letter: see migrations 0003 and 0005 of channels_app."""
    sides = (("fresh", 1), ("stale", -1))
    return " UNION ALL ".join(
        f"SELECT {columns}, {n} AS n FROM {side}{where}" for side, n in sides for columns, where in counted
    )


def mark(kind: int) -> str:
    """A row is in the lake, or may soon be, at or below the watermark."""
    return f"""
            INSERT INTO lake_mark (kind, block)
            SELECT DISTINCT {kind}, id >> 14 FROM fresh
            WHERE id <= (SELECT until FROM lake_watermark WHERE kind = {kind});"""


def replace(table: str, counted: list[tuple[str, str]], also: str) -> str:
    return f"""
        CREATE OR REPLACE FUNCTION count_{table}_update() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO counter_delta (kind, channel_id, consumer_id, status, reason, count)
            SELECT kind, channel_id, consumer_id, status, reason, sum(n) FROM ({moved(counted)}) AS moved
            GROUP BY kind, channel_id, consumer_id, status, reason HAVING sum(n) <> 0;{also}
            RETURN NULL;
        END $$;
        """


class Migration(migrations.Migration):
    dependencies = [
        ("reports_app", "0001_lake"),
        ("channels_app", "0008_dead_letter_counts"),
        ("scheduling_app", "0003_scheduled_due_all"),
    ]

    operations = [
        migrations.RunSQL(replace(table, counted, mark(kind)), replace(table, counted, ""))
        for table, kind, counted in MARKED
    ]
