"""Whose lake it is: the same id stands in the database and in the lake's file `_owner`.

Two databases that export to one place would take each other's files for rubbish.
"""

import secrets

from psycopg import Connection

from spark_analytics import manifest
from spark_analytics.errors import ReportError
from spark_analytics.lake.places import OWNER, Lake, Listed
from spark_analytics.manifest import Slice


class OtherOwner(ReportError):
    """The lake belongs to another database."""


class UnknownLake(ReportError):
    """The lake has files that this database does not know."""


def check(connection: Connection, lake: Lake, listed: Listed, live: list[Slice]) -> None:
    """A lake that nobody has signed is ours if it is empty, or has a slice that we know."""
    signed = lake.owner()
    if signed is None:
        if not listed.is_empty and not any(listed.has_rows(one) for one in live):
            raise UnknownLake(
                f"The lake {lake.url} has no file {OWNER}, and files that this database does not know: they are"
                " another database's. Set LAKE_URL to an empty place."
            )
    elif signed != manifest.owner(connection):
        raise OtherOwner(
            f"The lake {lake.url} belongs to another database, as its file {OWNER} says."
            " Set LAKE_URL to this database's own lake, or to an empty place."
        )


def sign(connection: Connection, lake: Lake) -> None:
    if lake.owner() is None:
        lake.sign(manifest.make_owner(connection, secrets.token_hex(16)))
