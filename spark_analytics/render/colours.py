"""Which colour a name has: the same in all pictures of a page."""

# Told apart by those who see colours differently, on white and on black.
COLOURS = ["#3b82c4", "#e08a1e", "#2fa37c", "#c8577f", "#8a6fd1", "#b59a1b", "#5aa9c9", "#d2604a"]


class Colours:
    """Names of a kind (channels, reasons) have places, by which picture they were in first, and by how much of it."""

    def __init__(self) -> None:
        self._places: dict[str, dict[str, int]] = {}

    def of(self, kind: str, names: list[str]) -> dict[str, str]:
        """For the names in one picture, the biggest first. Where two would look alike there, the later gives way."""
        places = self._places.setdefault(kind, {})
        for name in names:
            places.setdefault(name, len(places))
        given: dict[str, str] = {}
        for name in sorted(names, key=places.__getitem__):
            start = places[name] % len(COLOURS)
            wanted = COLOURS[start:] + COLOURS[:start]
            given[name] = next((one for one in wanted if one not in given.values()), wanted[0])
        return given
