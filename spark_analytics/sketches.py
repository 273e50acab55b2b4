"""Quantiles that can be added up: a sketch of the seconds that things took, per hour, merged for any range.

A sketch is exact for up to K values; beyond that the rank of a quantile is hardly ever off by more than RANK_ERROR.
"""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

# Spark's own default of 200 may give the 97.7th percentile for the 99th.
K = 800
RANK_ERROR = 0.005
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def seconds_between(earlier: str, later: str) -> Column:
    """NULL if one of them is. By whole microseconds: seconds as a float lose some."""
    return (F.unix_micros(later) - F.unix_micros(earlier)) / F.lit(1e6)


def sketch_of(seconds: Column) -> Column:
    """An aggregate; NULLs are left out."""
    return F.kll_sketch_agg_double(seconds, K)


def merged(sketch: str) -> Column:
    """An aggregate of sketches."""
    return F.kll_merge_agg_double(sketch, K)


def size_of(sketch: str) -> Column:
    """How many values went in."""
    return F.coalesce(F.kll_sketch_get_n_double(sketch), F.lit(0))


def quantiles_of(sketch: str, prefix: str = "") -> list[Column]:
    """All of them at once: the sketch is opened and sorted once."""
    found = F.kll_sketch_get_quantile_double(_filled(sketch), F.array(*map(F.lit, QUANTILES.values())))
    return [found[place].alias(prefix + name) for place, name in enumerate(QUANTILES)]


def share_within(sketch: str, seconds: float) -> Column:
    """Which part of the values is so small, or smaller; NULL where there are none."""
    return F.kll_sketch_get_rank_double(_filled(sketch), F.lit(float(seconds)))


def shares_within(sketch: str, seconds: Sequence[float]) -> Column:
    """The same for several at once, as an array: the sketch is opened once."""
    return F.kll_sketch_get_rank_double(_filled(sketch), F.array(*map(F.lit, seconds)))


def _filled(sketch: str) -> Column:
    """Spark fails when it is asked about an empty sketch; of NULL it says NULL."""
    return F.when(size_of(sketch) > 0, F.col(sketch))
