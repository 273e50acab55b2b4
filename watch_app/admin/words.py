"""Numbers the way people read them. The script of the page writes the same, for the pictures."""

NOTHING = "-"
_MANY = 10_000_000
_TIMES = ((120.0, 1.0, "s"), (7_200.0, 60.0, "min"), (172_800.0, 3_600.0, "h"), (float("inf"), 86_400.0, "d"))


def counted(count: int | None) -> str:
    if count is None:
        return NOTHING
    return f"{count:,}" if abs(count) < _MANY else f"{count / 1_000_000:,.1f} M"


def grown(count: int | None) -> str:
    """With its sign: more, fewer, or the same."""
    if not count:
        return NOTHING if count is None else "±0"
    return f"+{counted(count)}" if count > 0 else f"-{counted(-count)}"


def paced(count: int, seconds: float) -> str:
    """In the unit in which it is more than a fraction."""
    for unit, length in (("s", 1), ("min", 60), ("h", 3_600)):
        pace = count * length / seconds
        if pace >= 1 or unit == "h":
            return f"{pace:,.0f}/{unit}" if pace >= 100 or pace == 0 else f"{pace:.1f}/{unit}"
    raise AssertionError


def percent(share: float | None) -> str:
    """Rounded down: what is not all is not called all."""
    if share is None:
        return NOTHING
    tenths = int(share * 1_000 + 1e-9)
    return f"{tenths // 10} %" if tenths % 10 == 0 else f"{tenths / 10:.1f} %"


def lasting(seconds: float | None) -> str:
    if seconds is None:
        return NOTHING
    if seconds < 0.9995:
        return f"{seconds * 1_000:.0f} ms" if seconds >= 0.001 or seconds == 0 else "<1 ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    length, unit = next((length, unit) for most, length, unit in _TIMES if seconds < most)
    return f"{seconds / length:.0f} {unit}"
