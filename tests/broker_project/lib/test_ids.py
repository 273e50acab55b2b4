"""Random ids."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

from broker_project.lib.ids import new_id, new_ids


def test_ids_differ_within_and_across_threads() -> None:
    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(lambda _: new_id(), range(5_000)))

    assert len(set(ids)) == 5_000
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


def test_many_at_once_differ_too() -> None:
    ids = new_ids(300) + new_ids(0) + [new_id() for _ in range(300)]

    assert len(set(ids)) == 600
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


def test_a_forked_child_makes_other_ids() -> None:
    new_id()
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.write(writing, new_id().encode())
        os._exit(0)

    os.wait()
    assert os.read(reading, 32).decode() != new_id()
