"""The ranges, channels and consumers that the page offers."""

from typing import Any

from django.urls import reverse

from channels_app.models import Channel, Consumer
from watch_app.admin.asked import RANGE_NAMES, Asked
from watch_app.admin.sight import Sight

# More than these nobody scrolls through; any other can be typed.
MOST_OFFERED = 200


def choices(chosen: Asked, sight: Sight) -> dict[str, Any]:
    return {
        "chosen": chosen,
        "data_url": f"{reverse('admin:watch_data')}?{chosen.query()}",
        "ranges": [_range(word, name, chosen) for word, name in RANGE_NAMES.items()],
        "channels": _ids(Channel.objects.live()) if sight.channels else [],
        "consumers": _consumers(chosen) if sight.consumers else [],
        "is_filtered": bool(chosen.channel),
        "all_url": f"?{chosen.query(channel='', consumer='')}",
    }


def _range(word: str, name: str, chosen: Asked) -> dict[str, Any]:
    return {"word": word, "name": name, "url": f"?{chosen.query(range=word)}", "is_chosen": word == chosen.range}


def _consumers(chosen: Asked) -> list[str]:
    return _ids(Consumer.objects.live().filter(channel_id=chosen.scope.channel_id)) if chosen.channel else []


def _ids(rows: Any) -> list[str]:
    return list(rows.order_by("public_id").values_list("public_id", flat=True)[:MOST_OFFERED])
