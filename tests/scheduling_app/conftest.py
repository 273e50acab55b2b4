"""What doors on an event loop leave behind is put away."""

from collections.abc import Iterator

import pytest

from channels_app import known
from channels_app.api import keys
from tests.scheduling_app.threads import end_threads


@pytest.fixture
def door_threads(transactional_db: None) -> Iterator[None]:
    """For tests of doors: the threads that look things up for them, on the tests' database."""
    yield
    for threads, number in ((keys._thread, 1), (known._threads, known.THREADS)):
        end_threads(threads(), number)
        threads.cache_clear()
