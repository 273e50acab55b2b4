"""A search: a page of results, newest first, and an honest word on how far it looked."""

from dataclasses import dataclass

from broker_project.lib.patterns import PUBLIC_ID
from channels_app.models import Channel, MessageKey
from watch_app.explorer.asked import Asked, Cursor
from watch_app.explorer.found import Found, shown, shown_keys
from watch_app.explorer.walks import take
from watch_app.explorer.ways import way_of

# An id is a channel's own: as many channels may have it.
MOST_KEYS = 100


@dataclass(frozen=True)
class Results:
    """`older`: where the next page begins. `looked_at`: the search stopped after so many rows; there may be more."""

    found: list[Found]
    older: Cursor | None = None
    looked_at: int | None = None


def search(asked: Asked) -> Results:
    if asked.message_id:
        return Results(shown_keys(_keys(asked)))
    walk = way_of(asked)
    walked = take(walk, asked.before(walk.kind))
    older = None if walked.older is None else Cursor(walk.kind, walked.older)
    return Results(shown(walked.hits), older, walked.looked_at)


def _keys(asked: Asked) -> list[MessageKey]:
    """The key begins with the channel, so each is asked: one look an index entry."""
    if not PUBLIC_ID.fullmatch(asked.message_id):
        return []
    channels = Channel.objects.filter(pk=asked.channel_id) if asked.channel_id else Channel.objects.all()
    keys = MessageKey.objects.filter(channel_id__in=channels.order_by().values("pk"), message_id=asked.message_id)
    mine = keys if asked.with_later else keys.filter(scheduled=False)
    return list(mine.order_by("-row_id")[:MOST_KEYS])
