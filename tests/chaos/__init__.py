"""Hits a running broker where it hurts, under load, and asks afterwards whether anything is missing."""

import pytest

# Their assertions speak for themselves as those of a test do.
pytest.register_assert_rewrite("tests.chaos.invariants", "tests.chaos.load")
