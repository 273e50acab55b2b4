"""Live slices whose files are gone: the lake was lost, or moved, or LAKE_URL is not what it was."""

from psycopg import Connection

from spark_analytics import manifest
from spark_analytics.errors import ReportError
from spark_analytics.lake.places import Lake, Listed
from spark_analytics.manifest import Slice
from spark_analytics.tables import TABLES


class SliceLost(ReportError):
    """Files of the lake are gone, and rows that were in them have left the database."""


def mark(connection: Connection, lake: Lake, listed: Listed, live: list[Slice]) -> None:
    """They are exported anew, for which the database must have all their rows. Whatever is marked is not pruned."""
    gone = [one for one in live if not listed.has(one)]
    manifest.mark(connection, gone)
    # Without its roll-up alone a slice is made again of its own rows.
    if pruned := [one for one in gone if one.pruned_at and not listed.has_rows(one)]:
        names = {table.kind: table.name for table in TABLES}
        raise SliceLost(
            f"The lake {lake.url} has no {names[pruned[0].kind]}/{pruned[0].path}, and rows of it have left the"
            f" database ({len(pruned)} such in all). Bring the files back, or set LAKE_URL to where they are."
        )
