"""Why a letter is one, and what has happened to it."""

from collections.abc import Iterable, Iterator

from channels_app.admin.states import State, written
from channels_app.admin.timeline import Moment
from dlq_app.models import Act, DeadLetter, DeadLetterAct

TONES = {Act.ENTERED: "danger", Act.REQUEUED: "success", Act.DISCARDED: "warning", Act.EDITED: "info"}


def standing(letter: DeadLetter) -> State:
    """Where it stands, in a word and a sentence."""
    if letter.resolution is None:
        again = f", {letter.times} times by now" if letter.times > 1 else ""
        return State("open", "danger", f"Dead since {written(letter.entered_at)}{again}.")
    note = f": {letter.note}" if letter.note else "."
    by = f" by {letter.resolved_by}" if letter.resolved_by else ""
    return State(letter.resolution, TONES[Act(letter.resolution)], f"On {written(letter.resolved_at)}{by}{note}")


def history(acts: Iterable[DeadLetterAct]) -> Iterator[Moment]:
    for act in acts:
        yield Moment(act.act, TONES[Act(act.act)], _sentence(act), act.at, error=act.note)


def _sentence(act: DeadLetterAct) -> str:
    if act.act == Act.ENTERED:
        return f"After attempt {act.attempt}: {act.reason}."
    return f"By {act.by}." if act.by else "By the broker itself."
