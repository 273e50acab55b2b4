"""How long a part that died waits before it is started again."""

FIRST_SECONDS = 0.2
LONGEST_SECONDS = 5.0
# A part that lived this long did not die of how it starts.
HEALTHY_SECONDS = 10.0


def next_wait(wait: float, lived: float) -> float:
    """The wait after one of `wait` seconds (0: it never died before) and a life of `lived` seconds."""
    if not wait or lived >= HEALTHY_SECONDS:
        return FIRST_SECONDS
    return min(wait * 2, LONGEST_SECONDS)
