"""Threads that ask the tests' database, and their end."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connections


def end_threads(threads: ThreadPoolExecutor, number: int) -> None:
    """Each thread has a connection of its own, which must not outlive the tests' database."""
    all_here = Barrier(number)

    def close() -> None:
        all_here.wait()
        connections.close_all()

    for _ in range(number):
        threads.submit(close)
    threads.shutdown()
