"""The lake's columns and the Django models agree: a column that is new, gone or changed is noticed here."""

from typing import Any

import pytest
from django.db import connection, models

from channels_app.models import DeliveryAttempt, DeliveryJob, Message
from dlq_app.models import DeadLetterAct
from reports_app.models import LakeKind
from scheduling_app.models import ScheduledMessage
from spark_analytics.tables import ATTEMPT, JOB, LETTER_ACT, MESSAGE, SCHEDULED, TABLES, Column, Table, Type

MODELS: dict[str, dict[str, type[models.Model]]] = {
    MESSAGE.name: {"m": Message},
    JOB.name: {"j": DeliveryJob, "m": Message},
    SCHEDULED.name: {"s": ScheduledMessage},
    ATTEMPT.name: {"a": DeliveryAttempt, "j": DeliveryJob},
    LETTER_ACT.name: {"a": DeadLetterAct, "j": DeliveryJob},
}
TYPES: dict[Type, set[str]] = {
    Type.BIGINT: {"bigint"},
    Type.INT: {"integer", "smallint"},
    Type.TEXT: {"varchar", "text"},
    Type.MOMENT: {"timestamp with time zone"},
    Type.BYTES: {"bytea"},
}
PLAIN = [
    (table, column)
    for table in TABLES
    for column in (*table.columns, *table.heavy)
    if not column.sql.startswith("octet_length")
]


@pytest.mark.django_db
@pytest.mark.parametrize(("table", "column"), PLAIN, ids=[f"{table.name}.{column.name}" for table, column in PLAIN])
def test_a_column_is_one_of_the_models(table: Table, column: Column) -> None:
    alias, name = column.sql.split(".")
    kinds = _columns(MODELS[table.name][alias])
    assert kinds[name] in TYPES[column.type]


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_a_table_is_the_models_and_numbered_as_there(table: Table) -> None:
    model = next(iter(MODELS[table.name].values()))
    assert table.relation == model._meta.db_table
    assert table.kind == LakeKind[table.name.upper()]
    assert table.columns[0].name == "id"
    assert table.day in {column.name for column in table.columns if column.type is Type.MOMENT}


# What is in a model and not in the lake, each for a reason.
LEFT_OUT = {
    # Large, or only for whoever looks at the one message. A time to live shows in its jobs' ends.
    MESSAGE.name: {"payload", "headers", "expunged_by", "ttl_seconds"},
    SCHEDULED.name: {"payload", "headers", "ttl_seconds", "dapr", "job_name", "job"},
    ATTEMPT.name: {"answer"},
    LETTER_ACT.name: set(),
    # Of a job on its way, or as a device says.
    JOB.name: {"next_attempt_at", "lease_until", "expires_at", "has_ttl", "device_id"}
    | {"device_started_at", "device_completed_at"},
}


@pytest.mark.django_db
@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_a_column_that_is_new_in_a_model_is_noticed(table: Table) -> None:
    own = {column.sql.split(".")[1] for column in table.columns if column.sql.startswith(f"{table.id_sql[0]}.")}
    assert _columns(next(iter(MODELS[table.name].values()))).keys() - own == LEFT_OUT[table.name]


def _columns(model: type[models.Model]) -> dict[str, str]:
    return {str(field.column): _kind(field) for field in model._meta.concrete_fields}


def _kind(field: "models.Field[Any, Any]") -> str:
    kind = field.rel_db_type(connection) if field.is_relation else field.db_type(connection)
    return str(kind).split("(")[0]
