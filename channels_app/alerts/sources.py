"""Where rules come from, and what measures each kind of number. Apps add theirs when they are loaded."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from channels_app.alerts.values import Measured, Rule
from channels_app.models import AlertKind

# The rules that hold now, in one statement.
RuleSource = Callable[[], Iterable[Rule]]
# Given all rules of its kind: the numbers that may have crossed one, in one statement. What is missing is calm.
Measure = Callable[[Sequence[Rule], datetime], Iterable[Measured]]

RULES: list[RuleSource] = []
MEASURES: dict[AlertKind, Measure] = {}


def rules() -> list[Rule]:
    return [rule for source in RULES for rule in source()]
