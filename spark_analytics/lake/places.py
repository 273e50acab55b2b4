"""Where things are in the lake. By Hadoop's file systems: a directory here and a bucket elsewhere are the same."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from spark_analytics.manifest import PAYLOADS, Ids, Slice
from spark_analytics.tables import TABLES, Table

# A report that began to read a version may go on for as long; so may a write whose run is not known to be dead.
GRACE = timedelta(hours=1)
OWNER = "_owner"
_TIME = "%Y%m%dT%H%M%S"
_NAME = re.compile(rf"(\d+)-(\d+)-(\d{{8}}T\d{{6}})[0-9a-f]+(?:{PAYLOADS})?")


def run_name(now: datetime) -> str:
    return now.strftime(_TIME) + secrets.token_hex(4)


def slice_name(ids: Ids, run: str, table: Table) -> str:
    return f"{ids.first}-{ids.last}-{run}{PAYLOADS if table.is_wide else ''}"


@dataclass(frozen=True)
class Version:
    """What a directory's name says: not every file system knows when a directory was made."""

    ids: Ids
    made_at: datetime

    def replaces(self, other: "Version") -> bool:
        is_later = self.made_at >= other.made_at
        return is_later and self.ids.first <= other.ids.last and self.ids.last >= other.ids.first


def version_of(name: str) -> Version | None:
    """None of what is not ours."""
    if not (said := _NAME.fullmatch(name)):
        return None
    return Version(Ids(int(said[1]), int(said[2])), datetime.strptime(said[3], _TIME).replace(tzinfo=UTC))


@dataclass(frozen=True)
class Listed:
    """The directories that the lake has, by the number of their table: rows, and roll-ups."""

    rows: Mapping[int, frozenset[str]]
    rollups: Mapping[int, frozenset[str]]

    def has_rows(self, one: Slice) -> bool:
        return one.path in self.rows[one.kind]

    def has(self, one: Slice) -> bool:
        return self.has_rows(one) and one.path in self.rollups[one.kind]

    @property
    def is_empty(self) -> bool:
        found = (*self.rows.values(), *self.rollups.values())
        return not any(version_of(name) for names in found for name in names)


@dataclass(frozen=True)
class Lake:
    spark: SparkSession
    url: str

    def rows(self, table: Table, name: str) -> str:
        return f"{self.url}/{table.name}/{name}"

    def rollup(self, table: Table, name: str) -> str:
        return f"{self.url}/rollup_{table.name}/{name}"

    def listed(self) -> Listed:
        return Listed(
            {table.kind: self._list(self.rows(table, "")) for table in TABLES},
            {table.kind: self._list(self.rollup(table, "")) for table in TABLES},
        )

    def remove_rubbish(self, live: list[Slice], listed: Listed, now: datetime) -> int:
        """What is old and was replaced: versions before, and what runs left that died.

        Only where the files that took its place are seen. What this database does not know may be the only copy there
        is: after a restore of an older dump, or where somebody else's lake is taken for ours.
        """
        gone = 0
        for table in TABLES:
            named = [one for one in live if one.kind == table.kind]
            for names, place in ((listed.rows[table.kind], self.rows), (listed.rollups[table.kind], self.rollup)):
                for name in _rubbish(named, names, now):
                    self._delete(place(table, name))
                    gone += 1
        return gone

    def owner(self) -> str | None:
        system, path = self._at(f"{self.url}/{OWNER}")
        if not system.exists(path):
            return None
        file = system.open(path)
        try:
            return bytes(file.readAllBytes()).decode().strip()
        finally:
            file.close()

    def sign(self, owner: str) -> None:
        """Refused by the file system if somebody else was faster, where it can tell."""
        system, path = self._at(f"{self.url}/{OWNER}")
        file = system.create(path, False)
        try:
            file.write(f"{owner}\n".encode())
        finally:
            file.close()

    def _list(self, folder: str) -> frozenset[str]:
        system, path = self._at(folder)
        if not system.exists(path):
            return frozenset()
        return frozenset(entry.getPath().getName() for entry in system.listStatus(path))

    def _delete(self, folder: str) -> None:
        system, path = self._at(folder)
        system.delete(path, True)

    def _at(self, folder: str) -> tuple[Any, Any]:
        context = self.spark.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
        return path.getFileSystem(context._jsc.hadoopConfiguration()), path


def _rubbish(live: list[Slice], names: frozenset[str], now: datetime) -> list[str]:
    kept = {one.path for one in live} | {one.previous_path for one in live if one.exported_at > now - GRACE}
    there = [version for one in live if one.path in names and (version := version_of(one.path))]
    return [name for name in names - kept if _is_replaced(version_of(name), there, now)]


def _is_replaced(version: Version | None, there: list[Version], now: datetime) -> bool:
    if version is None or version.made_at >= now - GRACE:
        return False
    return any(one.replaces(version) for one in there)
