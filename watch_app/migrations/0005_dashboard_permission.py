from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watch_app", "0002_flows")]

    operations = [
        migrations.CreateModel(
            name="Dashboard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))
            ],
            options={
                "permissions": [("view_dashboard", "Can see the dashboard")],
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
