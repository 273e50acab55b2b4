"""The listing of what an application has delayed: its name, which is no topic's."""

from channels_app.known import known
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.errors import TopicIsListing

SUFFIX = "-delayed"


def listing_of(caller: Caller) -> str:
    return f"{caller.app_id}{caller.namespace}{SUFFIX}"


async def refuse_listing(caller: Caller, topic: str, channel_id: str) -> None:
    """Before a topic is made: under a listing's name nothing would ever arrive. One that is there stays a topic."""
    if not topic.endswith(SUFFIX) or await known("channel", channel_id) is not None:
        return
    app_id = topic.removesuffix(SUFFIX)
    if topic == listing_of(caller) or app_id == caller.app_id or await known("producer", app_id) is not None:
        raise TopicIsListing(
            f"{topic} is a listing of delayed messages, no topic: GET /v1.0/delayed/{topic} shows it, and POST"
            f" /v1.0/delayed/{topic}/take hands them over.",
            topic=topic,
        )
