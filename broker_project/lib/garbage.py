"""Python's garbage collector in a process that has loaded all it needs."""

import gc

# The default, 700 new objects, is two or three requests' worth.
YOUNG, MIDDLE, OLD = 10_000, 20, 20


def leave_what_is_loaded() -> None:
    """What is here stays: looking through it for garbage again and again is time lost for requests and deliveries."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
