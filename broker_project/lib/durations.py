"""A length of time, the way people say it."""

_UNITS = (("day", 24 * 3600), ("hour", 3600), ("minute", 60), ("second", 1))


def in_words(seconds: int) -> str:
    """All of it: a threshold is not rounded."""
    parts = []
    for name, length in _UNITS:
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count:,} {name}{'' if count == 1 else 's'}")
    return ", ".join(parts) or "0 seconds"
