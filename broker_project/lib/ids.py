"""Random ids, 32 hexadecimal digits: chance is fetched from the system for many of them at once."""

import os
import threading

BYTES = 16
FETCHED = 256 * BYTES


class _Chance(threading.local):
    """Per thread, so that no two ever cut the same piece."""

    def __init__(self) -> None:
        self.store = memoryview(b"")

    def piece(self) -> str:
        if not self.store:
            self.store = memoryview(os.urandom(FETCHED))
        piece, self.store = self.store[:BYTES], self.store[BYTES:]
        return piece.hex()


_chance = _Chance()


def new_id() -> str:
    return _chance.piece()


def _forget() -> None:
    _chance.store = memoryview(b"")


# A child must not cut the same pieces as its parent.
os.register_at_fork(after_in_child=_forget)
