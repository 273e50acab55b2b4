"""What is no legal id is no id, whichever door it came by."""

from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models


def _is_legal(model_name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        name=f"{model_name}_id_is_legal",
        condition=models.Q(public_id__regex="^[A-Za-z0-9._~-]{1,255}$"),
        violation_error_message="An id is 1 to 255 of A-Z a-z 0-9 . _ ~ -",
    )


class Migration(migrations.Migration):
    # So that VALIDATE, which reads the tables, holds up nobody who reads and writes them meanwhile.
    atomic = False
    dependencies = [("channels_app", "0012_queue")]

    operations = [
        *(AddConstraintNotValid(name, _is_legal(name)) for name in ("channel", "consumer", "producer")),
        *(ValidateConstraint(name, f"{name}_id_is_legal") for name in ("channel", "consumer", "producer")),
    ]
