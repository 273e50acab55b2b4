"""Arrays for PostgreSQL in its binary format, made in one go: psycopg asks every element for its type."""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

# Dimensions, whether there is a NULL, the element's oid; then, unless it is empty, the length and the first index.
_HEAD, _EMPTY = struct.Struct("!iiIii"), struct.Struct("!iiI")
_length = struct.Struct("!i").pack
_NULL = _length(-1)


class PgArray:
    """The bytes of a one-dimensional array of `element`s (an oid); `oid` is the array's own."""

    oid = 0
    element = 0

    def __init__(self, count: int, has_null: bool, items: bytes) -> None:
        head = _HEAD.pack(1, has_null, self.element, count, 1) if count else _EMPTY.pack(0, 0, self.element)
        self.data = head + items


class Bigints(PgArray):
    oid, element = 1016, 20

    def __init__(self, values: Sequence[int]) -> None:
        sized = chain.from_iterable((8, value) for value in values)
        super().__init__(len(values), False, struct.pack("!" + "iq" * len(values), *sized))


class Doubles(PgArray):
    oid, element = 1022, 701

    def __init__(self, values: Sequence[float]) -> None:
        sized = chain.from_iterable((8, value) for value in values)
        super().__init__(len(values), False, struct.pack("!" + "id" * len(values), *sized))


class Byteas(PgArray):
    oid, element = 1001, 17

    def __init__(self, values: Sequence[bytes]) -> None:
        super().__init__(len(values), False, b"".join(chain.from_iterable((_length(len(one)), one) for one in values)))


class Texts(PgArray):
    """NULLs are allowed here."""

    oid, element = 1009, 25

    def __init__(self, values: Sequence[str | None]) -> None:
        items = _texts(values)
        super().__init__(len(values), None in values, b"".join(items))


class Integers(PgArray):
    """NULLs are allowed here."""

    oid, element = 1007, 23

    def __init__(self, values: Sequence[int | None]) -> None:
        pack = struct.Struct("!ii").pack
        items = b"".join([_NULL if value is None else pack(4, value) for value in values])
        super().__init__(len(values), None in values, items)


def _texts(values: Sequence[str | None]) -> Iterable[bytes]:
    for value in values:
        if value is None:
            yield _NULL
        else:
            text = value.encode()
            yield _length(len(text))
            yield text


class _Dumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: PgArray) -> Buffer:
        return obj.data


for _kind in (Bigints, Doubles, Byteas, Texts, Integers):
    psycopg.adapters.register_dumper(_kind, type(f"{_kind.__name__}Dumper", (_Dumper,), {"oid": _kind.oid}))
