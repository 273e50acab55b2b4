"""An environment for Spark's machines, which have Python and Spark but none of our libraries: one archive."""

import tarfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

TOP = Path(__file__).resolve().parents[1]
# What spark_analytics imports. Spark brings PySpark itself, and its machines have a Java.
NEEDED = ("adbc-driver-postgresql", "pyarrow", "pandas", "psycopg[binary]", "altair", "vl-convert-python")
# Compiled files stay: else every process of every machine would compile them.
LEFT_OUT = {"tests"}


def pack(path: Path) -> Path:
    """Unpacked, it is a directory for PYTHONPATH."""
    packages: dict[str, Distribution] = {}
    for name in NEEDED:
        _gather(Requirement(name), packages)
    # Packed for speed: what is large in it hardly gets smaller.
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for package in packages.values():
            _add(package, archive)
        archive.add(TOP / "spark_analytics", "spark_analytics")
    return path


def _add(package: Distribution, archive: tarfile.TarFile) -> None:
    """What lies beside the packages, scripts for the most part, is not imported."""
    for file in package.files or []:
        source = Path(str(file.locate()))
        if ".." not in file.parts and source.is_file() and not LEFT_OUT & set(file.parts):
            archive.add(source, str(file))


def _gather(wanted: Requirement, found: dict[str, Distribution]) -> None:
    """This package, and what it needs with the extras that were asked for."""
    if wanted.name in found:
        return
    package = found[wanted.name] = distribution(wanted.name)
    for need in map(Requirement, package.requires or []):
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in wanted.extras or {""}):
            _gather(need, found)
