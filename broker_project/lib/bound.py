"""Statements on Django's own connection whose parameters PostgreSQL binds.

Django would write them into the statement's text: a batch of payloads would be escaped here and parsed there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections


def fetch(statement: str, parameters: Mapping[str, Any] | Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """In the transaction that Django is in, if it is in one; errors are Django's."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    wrapper.ensure_connection()
    with wrapper.wrap_database_errors, psycopg.Cursor(wrapper.connection) as cursor:
        return cursor.execute(statement, parameters).fetchall()
