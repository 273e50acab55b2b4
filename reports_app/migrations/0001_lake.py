"""The lake's slices, how far they go, and what changed since."""

import django.contrib.postgres.constraints
import django.contrib.postgres.fields.ranges
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="LakeWatermark",
            fields=[
                (
                    "kind",
                    models.SmallIntegerField(
                        choices=[(1, "Message"), (2, "Job"), (3, "Scheduled"), (4, "Attempt"), (5, "Letter Act")],
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("until", models.BigIntegerField()),
            ],
            options={
                "db_table": "lake_watermark",
            },
        ),
        migrations.CreateModel(
            name="LakeMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.SmallIntegerField(
                        choices=[(1, "Message"), (2, "Job"), (3, "Scheduled"), (4, "Attempt"), (5, "Letter Act")]
                    ),
                ),
                ("block", models.BigIntegerField()),
            ],
            options={
                "db_table": "lake_mark",
                "indexes": [models.Index(fields=["kind", "block"], name="lake_mark_block")],
            },
        ),
        migrations.CreateModel(
            name="LakeSlice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.SmallIntegerField(
                        choices=[(1, "Message"), (2, "Job"), (3, "Scheduled"), (4, "Attempt"), (5, "Letter Act")]
                    ),
                ),
                ("first_id", models.BigIntegerField()),
                ("last_id", models.BigIntegerField()),
                ("row_count", models.BigIntegerField()),
                ("checksum", models.BigIntegerField()),
                ("path", models.CharField(max_length=255)),
                ("previous_path", models.CharField(db_default="", max_length=255)),
                ("first_day", models.DateField(null=True)),
                ("last_day", models.DateField(null=True)),
                ("exported_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("pruned_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "lake_slice",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("first_id__lte", models.F("last_id"))), name="lake_slice_ids"
                    ),
                    django.contrib.postgres.constraints.ExclusionConstraint(
                        expressions=[
                            (
                                models.Func(
                                    models.F("kind"),
                                    models.F("kind"),
                                    models.Value("[]"),
                                    function="int4range",
                                    output_field=django.contrib.postgres.fields.ranges.IntegerRangeField(),
                                ),
                                "&&",
                            ),
                            (
                                models.Func(
                                    models.F("first_id"),
                                    models.F("last_id"),
                                    models.Value("[]"),
                                    function="int8range",
                                    output_field=django.contrib.postgres.fields.ranges.BigIntegerRangeField(),
                                ),
                                "&&",
                            ),
                        ],
                        name="lake_slice_apart",
                    ),
                ],
            },
        ),
    ]
