"""Where in the lake it is: a message that was pruned, and the acts on dead letters so far."""

from typing import Any

from django.db.models import Max, Q

from channels_app.models import MessageKey
from reports_app.models import LakeKind, LakeSlice


def place_of(key: MessageKey) -> dict[str, Any] | None:
    """Under the lake's address: the table, the slice that is live now, and the row's id in it."""
    kind = LakeKind.SCHEDULED if key.scheduled else LakeKind.MESSAGE
    slices = LakeSlice.objects.filter(kind=kind, first_id__lte=key.row_id, last_id__gte=key.row_id)
    path = slices.values_list("path", flat=True).first()
    if path is None:
        return None
    return {"table": kind.name.lower(), "path": f"{kind.name.lower()}/{path}", "rowId": str(key.row_id)}


def letter_acts_until() -> int | None:
    """The last act on a dead letter that is in the lake; 0 if none is yet, None where there is no lake."""
    found = LakeSlice.objects.aggregate(any=Max("pk"), last=Max("last_id", filter=Q(kind=LakeKind.LETTER_ACT)))
    return None if found["any"] is None else found["last"] or 0
