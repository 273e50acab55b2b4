"""A length of time, the way people say it."""

_LONG_UNITS = (("day", 24 * 3600), ("hour", 3600), ("minute", 60))


def in_words(seconds: float) -> str:
    """To the millisecond: nobody sets a finer threshold."""
    seconds = round(seconds, 3)
    parts = []
    for name, length in _LONG_UNITS:
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count:,.0f} {name}{'' if count == 1 else 's'}")
    if seconds or not parts:
        parts.append(f"{seconds:g} second{'' if seconds == 1 else 's'}")
    return ", ".join(parts)
