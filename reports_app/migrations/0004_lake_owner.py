"""Whose the lake is: an id that its file `_owner` has too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports_app", "0003_report"),
    ]

    operations = [
        migrations.CreateModel(
            name="LakeOwner",
            fields=[
                ("only", models.SmallIntegerField(db_default=1, primary_key=True, serialize=False)),
                ("owner_id", models.CharField(max_length=32)),
            ],
            options={
                "db_table": "lake_owner",
                "constraints": [models.CheckConstraint(condition=models.Q(("only", 1)), name="lake_owner_one")],
            },
        ),
    ]
