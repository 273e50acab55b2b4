import asyncio
import threading
from typing import Any

import pytest

from channels_app.api import keys
from channels_app.models import Producer
from channels_app.registry import registry
from scheduling_app.dapr import caller as callers
from scheduling_app.dapr.caller import AppIdForbidden, Caller, caller_at_hand, caller_of, looking, storing
from scheduling_app.dapr.errors import Unauthenticated
from tests.channels_app.registry import make_producer

pytestmark = pytest.mark.usefixtures("door_threads")


def called(token: str, app_id: str = "") -> Caller:
    return asyncio.run(caller_of(token, app_id, ""))


def made_elsewhere(public_id: str, token: str) -> Producer:
    """By no act of this process, which would know of it."""
    row: Producer = Producer.objects.create(public_id=public_id, name=public_id, token=token)
    return row


def test_a_producers_token_is_that_producer() -> None:
    shop = make_producer("shop", token="sell")
    assert (called("sell").app_id, called("sell").producer.row_id) == ("shop", shop.pk)
    assert called("sell", "shop").app_id == "shop"


def test_a_producers_token_speaks_for_no_other_application() -> None:
    make_producer("shop", token="sell")
    make_producer("till", token="other")
    for app_id in ("till", "nobody-yet"):
        with pytest.raises(AppIdForbidden):
            called("sell", app_id)
        assert caller_at_hand("sell", app_id, "") is None


def test_of_several_with_one_token_the_application_is_any_of_them() -> None:
    make_producer("shop", token="same")
    make_producer("till", token="same")
    assert [called("same").app_id, called("same", "till").app_id] == ["shop", "till"]


def test_the_digest_finds_a_producer_and_its_token_decides() -> None:
    found = Producer.objects.get(pk=make_producer("shop", token="sell").pk)
    other = make_producer("till", token="other")
    Producer.objects.filter(pk=other.pk).update(token_digest=found.token_digest)
    assert called("sell").app_id == "shop"
    with pytest.raises(AppIdForbidden):
        called("sell", "till")


def test_an_api_key_speaks_for_any_application(api_key: str) -> None:
    shop = make_producer("shop", token="sell")
    assert called(api_key, "shop").producer.row_id == shop.pk
    assert [called(api_key, "till").app_id, called(api_key).app_id] == ["till", "dapr"]


def test_at_an_open_door_anybody_is_who_they_say(settings: Any) -> None:
    settings.OPEN_DOORS = ["dapr"]
    make_producer("shop", token="sell")
    assert [called("", "till").app_id, called("sell", "till").app_id, called("sell").app_id] == ["till", "till", "shop"]


def test_a_producer_is_made_for_the_first_thing_that_is_stored(api_key: str) -> None:
    till = called(api_key, "till")
    assert not Producer.objects.exists()
    made = asyncio.run(storing(till))
    assert Producer.objects.get(public_id="till").pk == made.producer.row_id
    assert asyncio.run(storing(till)).producer.row_id == made.producer.row_id
    # Without waiting until the registry looks for news.
    assert called(api_key, "till").producer.row_id == made.producer.row_id


def test_what_another_process_stored_a_moment_ago_is_looked_for_by_its_producer(api_key: str) -> None:
    till = called(api_key, "till")
    assert asyncio.run(looking(till)) == till
    made = made_elsewhere("till", token="sell")
    assert not called(api_key, "till").has_stored
    assert asyncio.run(looking(till)).producer.row_id == made.pk


def test_a_producer_that_was_made_elsewhere_a_moment_ago_is_let_in(api_key: str, settings: Any) -> None:
    settings.REGISTRY_MAX_AGE_SECONDS = 3600
    assert not called(api_key, "till").has_stored
    made = made_elsewhere("till", token="sell")
    assert called("sell").producer.row_id == made.pk


def test_a_wrong_token_is_not_remembered() -> None:
    with pytest.raises(Unauthenticated):
        called("wrong", "till")
    assert registry()._entries == {}


def test_tokens_are_looked_up_apart_from_what_publishers_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()
    find = callers._found

    def found(*asked: str) -> Caller | None:
        threads.add(threading.current_thread().name)
        return find(*asked)

    monkeypatch.setattr(callers, "_found", found)
    with pytest.raises(Unauthenticated):
        called("wrong")
    assert [name.partition("_")[0] for name in threads] == [keys._thread()._thread_name_prefix]
