"""Secrets at rest."""

import pytest

from broker_project.lib.sealing import Sealer, UnreadableSecret


def test_what_is_sealed_is_unreadable_and_comes_back() -> None:
    sealer = Sealer(["key"])

    sealed = sealer.seal("a token")

    assert "a token" not in sealed
    assert sealer.unseal(sealed) == "a token"
    assert sealer.seal("a token") != sealed


def test_a_new_first_key_still_opens_what_the_old_one_sealed() -> None:
    sealed = Sealer(["old"]).seal("a token")

    assert Sealer(["new", "old"]).unseal(sealed) == "a token"


def test_the_first_key_seals() -> None:
    assert Sealer(["new"]).unseal(Sealer(["new", "old"]).seal("a token")) == "a token"


def test_without_the_key_it_cannot_be_read() -> None:
    with pytest.raises(UnreadableSecret):
        Sealer(["other"]).unseal(Sealer(["key"]).seal("a token"))
