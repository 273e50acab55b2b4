"""Random ids, 32 hexadecimal digits: chance is fetched from the system for many of them at once."""

import os
import threading

DIGITS = 32
FETCHED_BYTES = 4096


class _Chance(threading.local):
    """Per thread, so that no two ever take the same piece."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def piece(self) -> str:
        if not self.pieces:
            text = os.urandom(FETCHED_BYTES).hex()
            self.pieces = [text[at : at + DIGITS] for at in range(0, len(text), DIGITS)]
        return self.pieces.pop()


_chance = _Chance()


def new_id() -> str:
    return _chance.piece()


def _forget() -> None:
    _chance.pieces = []


# A child must not take the same pieces as its parent.
os.register_at_fork(after_in_child=_forget)
