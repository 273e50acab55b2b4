"""How many rows of each table went."""

from collections import Counter
from collections.abc import Iterable

from reports_app.models import LakeKind


class Tally:
    def __init__(self, counted: Iterable[tuple[int, int]] = ()) -> None:
        self.rows: Counter[int] = Counter(dict(counted))

    def __iadd__(self, other: "Tally") -> "Tally":
        self.rows += other.rows
        return self

    @property
    def messages(self) -> int:
        return self.rows[LakeKind.MESSAGE]

    @property
    def total(self) -> int:
        return self.rows.total()

    def __str__(self) -> str:
        return ", ".join(f"{self.rows[kind]} {kind.label.lower()} rows" for kind in LakeKind)
