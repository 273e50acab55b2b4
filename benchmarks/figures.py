"""What a scenario comes to: figures, each with what it is held against."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A bound on the ratio to the reference, or on the measured value itself."""

    limit: float
    at_most: bool = False
    of_ratio: bool = True

    def met_by(self, figure: "Figure") -> bool:
        value = figure.ratio if self.of_ratio else figure.measured
        if value is None:
            return False
        return value <= self.limit if self.at_most else value >= self.limit


def ratio_at_least(limit: float) -> Target:
    return Target(limit)


def ratio_at_most(limit: float) -> Target:
    return Target(limit, at_most=True)


def at_least(limit: float) -> Target:
    return Target(limit, of_ratio=False)


def at_most(limit: float) -> Target:
    return Target(limit, at_most=True, of_ratio=False)


@dataclass(frozen=True)
class Figure:
    """One line of the table. Not measured (None): the broker does not have it."""

    what: str
    unit: str
    measured: float | None
    reference: float | None = None
    against: str = ""
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        return self.measured / self.reference if self.measured is not None and self.reference else None

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "not there"
        if self.target is None:
            return ""
        return "ok" if self.target.met_by(self) else "missed"
