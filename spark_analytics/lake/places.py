"""Where things are in the lake. By Hadoop's file systems: a directory here and a bucket elsewhere are the same."""

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from spark_analytics.manifest import PAYLOADS, Ids, Slice
from spark_analytics.tables import TABLES, Table

# A report that began to read a version may go on for as long; so may a write whose run is not known to be dead.
GRACE = timedelta(hours=1)
_TIME = "%Y%m%dT%H%M%S"
_NAME = re.compile(rf"\d+-\d+-(\d{{8}}T\d{{6}})[0-9a-f]+(?:{PAYLOADS})?")


def run_name(now: datetime) -> str:
    return now.strftime(_TIME) + secrets.token_hex(4)


def slice_name(ids: Ids, run: str, table: Table) -> str:
    return f"{ids.first}-{ids.last}-{run}{PAYLOADS if table.is_wide else ''}"


@dataclass(frozen=True)
class Lake:
    spark: SparkSession
    url: str

    def rows(self, table: Table, name: str) -> str:
        return f"{self.url}/{table.name}/{name}"

    def rollup(self, table: Table, name: str) -> str:
        return f"{self.url}/rollup_{table.name}/{name}"

    def remove_rubbish(self, named: list[Slice], now: datetime) -> int:
        """What no row names and is old: left by runs that died, and versions that were replaced."""
        kept = {one.path for one in named} | {one.previous_path for one in named if one.exported_at > now - GRACE}
        gone = 0
        for folder in [f"{self.url}/{prefix}{table.name}" for table in TABLES for prefix in ("", "rollup_")]:
            for name in self._list(folder):
                if name not in kept and _is_old(name, now):
                    self._delete(f"{folder}/{name}")
                    gone += 1
        return gone

    def _list(self, folder: str) -> list[str]:
        system, path = self._at(folder)
        if not system.exists(path):
            return []
        return [entry.getPath().getName() for entry in system.listStatus(path)]

    def _delete(self, folder: str) -> None:
        system, path = self._at(folder)
        system.delete(path, True)

    def _at(self, folder: str) -> tuple[Any, Any]:
        context = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def _is_old(name: str, now: datetime) -> bool:
    """By its name: not every file system knows when a directory was made. What is not ours is left alone."""
    made = _NAME.fullmatch(name)
    return made is not None and datetime.strptime(made[1], _TIME).replace(tzinfo=UTC) < now - GRACE
