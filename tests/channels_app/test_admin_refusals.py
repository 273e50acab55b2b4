"""Addresses of the admin that are not there, or not for everyone."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from channels_app.models import Channel
from tests.channels_app.registry import problem
from tests.channels_app.staff import log_in, pages

NOWHERE = "/admin/no/such/page/"


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


def test_staff_at_an_address_that_is_not_there_find_the_way_back() -> None:
    answer = log_in("view_channel").get(NOWHERE)

    assert answer.status_code == 404
    assert "There is nothing at this address." in answer.text
    assert f'href="{reverse("admin:index")}"' in answer.text
    assert "channels_app/theme.css" in answer.text


def test_staff_without_the_permission_find_the_way_back() -> None:
    answer = log_in("view_producer").get(pages(Channel))

    assert answer.status_code == 403
    assert "Your permissions do not open this page." in answer.text
    assert f'href="{reverse("admin:index")}"' in answer.text
    assert pages(Channel) not in answer.text


def test_the_page_has_the_links_that_its_reader_may_follow_only() -> None:
    assert pages(Channel) in log_in("view_channel").get(NOWHERE).text


@pytest.mark.parametrize("address", [NOWHERE, "/admin/channels_app/channel/"])
def test_strangers_learn_nothing_but_where_to_log_in(client: Client, address: str) -> None:
    answer = client.get(address)

    assert (answer.status_code, answer.headers["Location"]) == (302, f"/admin/login/?next={address}")


def test_a_user_who_is_not_staff_is_a_stranger(client: Client) -> None:
    client.force_login(User.objects.create_user("user"))

    assert client.get(NOWHERE).status_code == 302


def test_outside_the_admin_it_stays_a_problem_document() -> None:
    problem(log_in("view_channel").get("/no/such/page"), 404, "not_found")
