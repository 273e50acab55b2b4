"""How this door shows a message: its index, its queue, and the value that was published."""

import base64
import json

from broker_project.api.reply import JSON
from channels_app.api.queue.strict import is_json
from channels_app.pull.index.poll import Item


def message_shown(index: int, queue_name: str, value: bytes, name: str = "value") -> bytes:
    """By hand, as the value is JSON already: numbers keep the digits that they were sent with."""
    return b'{"id":%d,"metadata":{"queue_name":"%s"},"%s":%s}' % (index, queue_name.encode(), name.encode(), value)


def item_shown(item: Item, queue_name: str) -> bytes:
    """What came by another door and is no JSON is shown as a text; what is no UTF-8, as base64."""
    try:
        text = item.payload.decode()
    except UnicodeDecodeError:
        encoded = json.dumps(base64.b64encode(item.payload).decode()).encode()
        return message_shown(item.index, queue_name, encoded, name="value_base64")
    if item.content_type.partition(";")[0].strip().lower() == JSON and is_json(text):
        return message_shown(item.index, queue_name, item.payload)
    return message_shown(item.index, queue_name, json.dumps(text).encode())
