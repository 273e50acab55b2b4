"""Where a message is found."""


def location(channel_id: str, message_id: str, *, scheduled: bool) -> str:
    return f"/channel/{channel_id}/{'scheduled-message' if scheduled else 'message'}/{message_id}"
