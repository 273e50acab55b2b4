"""What a client says it knows, against what is."""

from datetime import UTC, datetime, timedelta

import pytest

from broker_project.lib.conditions import AlreadyExists, ChangedMeanwhile, Condition, PreconditionMissing

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("condition", "refusal"),
    [
        (Condition(), PreconditionMissing),
        (Condition(unmodified_since=NOON), None),
        (Condition(unmodified_since=NOON - timedelta(seconds=1)), ChangedMeanwhile),
        (Condition(unmodified_since=NOON + timedelta(seconds=1)), ChangedMeanwhile),
        (Condition(etags=frozenset({'"1"'})), None),
        (Condition(etags=frozenset({'"0"', '"1"'})), None),
        (Condition(etags=frozenset({"*"})), None),
        (Condition(etags=frozenset({'"2"'})), ChangedMeanwhile),
        # Both given: the ETag, being exact, decides.
        (Condition(etags=frozenset({'"2"'}), unmodified_since=NOON), ChangedMeanwhile),
        (Condition(etags=frozenset({'"1"'}), unmodified_since=NOON - timedelta(days=1)), None),
        (Condition(only_new=True), AlreadyExists),
    ],
)
def test_a_condition_against_a_row(condition: Condition, refusal: type[Exception] | None) -> None:
    if refusal is None:
        condition.check_present(changed_at=NOON, etag='"1"')
    else:
        with pytest.raises(refusal):
            condition.check_present(changed_at=NOON, etag='"1"')


def test_a_condition_where_there_is_no_row() -> None:
    Condition().check_absent()
    Condition(unmodified_since=NOON).check_absent()
    with pytest.raises(ChangedMeanwhile):
        Condition(etags=frozenset({"*"})).check_absent()
