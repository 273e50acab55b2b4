"""Partitions: a message is given one and keeps it, and so do its jobs. Burst control of what is due at once."""

import django.core.validators
from django.db import migrations, models

# Jobs are counted by partition too, so that a message can be given the one with the least to do; those of partition 0,
# where most channels have all of theirs, are what the others leave.
JOB = "2 AS kind, channel_id, consumer_id, status, coalesce(reason, '') AS reason"
BY_PARTITION = "4 AS kind, channel_id, partition::bigint AS consumer_id, status, '' AS reason"


def counted(*, by_partition: bool) -> str:
    """The functions of the triggers that count jobs; see migration 0003."""
    add = [f"SELECT {JOB}, 1 AS n FROM fresh"]
    take = [f"SELECT {JOB}, -1 AS n FROM stale"]
    if by_partition:
        add.append(f"SELECT {BY_PARTITION}, 1 AS n FROM fresh WHERE partition <> 0")
        take.append(f"SELECT {BY_PARTITION}, -1 AS n FROM stale WHERE partition <> 0")
    bodies = {"insert": add, "delete": take, "update": [*add, *take]}
    return "".join(
        f"""
        CREATE OR REPLACE FUNCTION count_delivery_job_{event}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO counter_delta (kind, channel_id, consumer_id, status, reason, count)
            SELECT kind, channel_id, consumer_id, status, reason, sum(n) FROM ({" UNION ALL ".join(rows)}) AS moved
            GROUP BY kind, channel_id, consumer_id, status, reason HAVING sum(n) <> 0;
            RETURN NULL;
        END $$;
        """
        for event, rows in bodies.items()
    )


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0004_engine_state"),
    ]

    operations = [
        migrations.AddField(
            model_name="channel",
            name="release_per_second",
            field=models.FloatField(
                blank=True,
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(1000000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="channel",
            name="spread_seconds",
            field=models.FloatField(
                blank=True,
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0.001),
                    django.core.validators.MaxValueValidator(86400),
                ],
            ),
        ),
        migrations.AddField(
            model_name="channelstate",
            name="released_until",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="deliveryjob",
            name="partition",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AddField(
            model_name="message",
            name="partition",
            field=models.SmallIntegerField(db_default=0),
        ),
        migrations.AlterField(
            model_name="counter",
            name="kind",
            field=models.SmallIntegerField(
                choices=[(1, "Message"), (2, "Job"), (3, "Scheduled"), (4, "Job By Partition")]
            ),
        ),
        migrations.AlterField(
            model_name="counterdelta",
            name="kind",
            field=models.SmallIntegerField(
                choices=[(1, "Message"), (2, "Job"), (3, "Scheduled"), (4, "Job By Partition")]
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("spread_seconds__gt", 0)), name="channel_spread_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="channel",
            constraint=models.CheckConstraint(
                condition=models.Q(("release_per_second__gt", 0)), name="channel_release_is_positive"
            ),
        ),
        migrations.RunSQL(counted(by_partition=True), counted(by_partition=False)),
    ]
