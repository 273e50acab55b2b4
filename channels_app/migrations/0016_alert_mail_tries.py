"""An alert's row says how often its mail was not taken, how often refused, and when it is tried again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("channels_app", "0015_alerts"),
    ]

    operations = [
        migrations.AddField(model_name="alert", name="mail_tries", field=models.IntegerField(db_default=0)),
        migrations.AddField(model_name="alert", name="mail_refusals", field=models.IntegerField(db_default=0)),
        migrations.AddField(model_name="alert", name="mail_after", field=models.DateTimeField(null=True)),
    ]
