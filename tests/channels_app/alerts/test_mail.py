"""Alerts by e-mail, through a real mail server."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from broker_project.settings.environment import one_of, readable_addresses
from channels_app.alerts import mail, news
from channels_app.alerts.telling import tell
from channels_app.models import Alert
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.alerts.post_office import PostOffice, post_office
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db

PASSWORD = "a password of the mail server"


@pytest.fixture
def office(settings: Any) -> Iterator[PostOffice]:
    with post_office() as made:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", made.port
        settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL, settings.EMAIL_TIMEOUT = False, False, 2.0
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.ALERT_EMAILS = ["ops@example.com"]
        yield made


def test_an_alert_is_mailed_once_when_it_begins_and_once_when_it_is_over(office: PostOffice, settings: Any) -> None:
    alert = make_alert(make_channel())
    assert (tell(), tell()) == (1, 0)
    Alert.objects.update(ended_at=timezone.now())
    assert (tell(), tell()) == (1, 0)

    began, ended = office.letters
    assert began.to == ["ops@example.com"]
    assert began.mail["Subject"] == "[broker] Alert: Many dead letters: orders"
    assert "More than 100 open letters: 117 when it began." in began.text
    assert f"{settings.PUBLIC_URL}/admin/channels_app/alert/{alert.pk}/change/" in began.text
    assert ended.mail["Subject"] == "[broker] Over: Many dead letters: orders"


def test_what_there_is_to_tell_at_once_is_one_letter_to_each_circle_of_readers(office: PostOffice) -> None:
    for number in range(3):
        make_alert(make_channel(f"c{number}"))
    make_alert(make_channel("mine"), addresses=["anna@example.com", "ben@example.com"])

    assert tell() == 4
    assert [letter.to for letter in office.letters] == [["ops@example.com"], ["anna@example.com", "ben@example.com"]]
    assert office.letters[0].mail["Subject"] == "[broker] 3 alerts began, 0 are over"
    assert all(f"c{number}" in office.letters[0].text for number in range(3))


def test_a_letter_that_is_tried_again_has_the_same_id(office: PostOffice) -> None:
    make_alert(make_channel())
    office.answers["DATA"] = lambda _line: "451 later"
    assert tell() == 0
    office.answers.clear()
    Alert.objects.update(mail_after=None)
    assert tell() == 1
    Alert.objects.update(began_mailed_at=None)
    assert tell() == 1

    first, second = office.letters
    assert first.mail["Message-ID"] == second.mail["Message-ID"]


def test_a_server_that_is_away_is_asked_until_it_takes_it(office: PostOffice, settings: Any) -> None:
    make_alert(make_channel())
    settings.EMAIL_PORT = 1
    assert tell() == 0
    settings.EMAIL_PORT = office.port
    assert tell() == 1


def test_an_address_that_is_refused_keeps_no_other_from_hearing(office: PostOffice) -> None:
    make_alert(make_channel("one"), addresses=["gone@example.com"])
    make_alert(make_channel("two"))
    office.answers["RCPT"] = lambda line: "550 no such box" if "gone@" in line else "250 OK"

    assert tell() == 1
    assert [letter.to for letter in office.letters] == [["ops@example.com"]]


def test_as_many_refused_alerts_as_are_read_at_once_keep_nobody_from_hearing(office: PostOffice) -> None:
    for number in range(news.MOST):
        make_alert(make_channel(f"c{number}"), addresses=[f"gone{number}@example.com"])
    make_alert(make_channel("mine"))
    office.answers["RCPT"] = lambda line: "550 no such box" if "gone" in line else "250 OK"

    assert (tell(), tell()) == (0, 1)
    assert [letter.to for letter in office.letters] == [["ops@example.com"]]


def test_what_is_refused_is_left_for_a_while_and_then_tried_again(office: PostOffice) -> None:
    alert = make_alert(make_channel())
    asked: list[str] = []

    def refuse(line: str) -> str:
        asked.append(line)
        return "550 no such box"

    office.answers["RCPT"] = refuse
    before = timezone.now()
    # The row is all that is known of it: another process waits as long.
    assert (tell(), tell(), len(asked)) == (0, 0, 1)
    alert.refresh_from_db()
    assert alert.mail_tries == 1
    assert alert.mail_after is not None
    assert alert.mail_after - before >= timedelta(seconds=30)

    Alert.objects.update(mail_after=before)
    assert (tell(), len(asked)) == (0, 2)
    Alert.objects.update(mail_after=before)
    office.answers.clear()
    assert tell() == 1
    assert Alert.objects.filter(mail_tries=0, mail_refusals=0, mail_after__isnull=True).exists()


def test_a_server_that_was_away_makes_its_first_refusal_no_later_one(office: PostOffice, settings: Any) -> None:
    alert, now = make_alert(make_channel()), timezone.now()
    settings.EMAIL_PORT = 1
    for _ in range(10):
        assert mail.tell(now) == 0
    alert.refresh_from_db()
    assert (alert.mail_tries, alert.mail_after) == (10, None)

    settings.EMAIL_PORT = office.port
    office.answers["RCPT"] = lambda _line: "450 later"
    assert mail.tell(now) == 0
    alert.refresh_from_db()
    assert (alert.mail_tries, alert.mail_after) == (11, now + timedelta(seconds=30))

    office.answers.clear()
    # Who wrote the time also compares it: by the caller's clock, whatever that of the database says.
    assert (mail.tell(now + timedelta(seconds=29)), mail.tell(now + timedelta(seconds=30))) == (0, 1)


def test_what_was_never_tried_comes_before_what_was(office: PostOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when a server hangs up on some: nobody waits then, and still others have their turn."""
    monkeypatch.setattr(news, "MOST", 1)
    make_alert(make_channel("one"), addresses=["gone@example.com"], mail_tries=3)
    make_alert(make_channel("two"))

    assert (tell(), tell()) == (1, 1)
    assert [letter.to for letter in office.letters] == [["ops@example.com"], ["gone@example.com"]]


@pytest.mark.parametrize(("refusals", "seconds"), [(1, 30), (2, 60), (3, 120), (7, 1920), (8, 3600), (10_000, 3600)])
def test_each_refusal_is_left_for_twice_as_long_up_to_an_hour(refusals: int, seconds: int) -> None:
    assert mail.wait_after_refusal(refusals) == timedelta(seconds=seconds)


def test_who_wants_no_mail_gets_none(office: PostOffice, settings: Any) -> None:
    make_alert(make_channel(), to_email=False)
    assert tell() == 0
    make_alert(make_channel("other"))
    settings.ALERT_EMAILS = []
    assert tell() == 0
    assert office.letters == []


def test_alerts_that_nobody_reads_by_mail_take_no_place_from_others(
    office: PostOffice, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "MOST", 2)
    settings.ALERT_EMAILS = []
    for number in range(2):
        make_alert(make_channel(f"c{number}"))
    make_alert(make_channel("mine"), addresses=["anna@example.com"])

    assert tell() == 1
    assert [letter.to for letter in office.letters] == [["anna@example.com"]]
    settings.ALERT_EMAILS = ["ops@example.com"]
    assert tell() == 2


def test_no_password_is_in_the_log(office: PostOffice, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    make_alert(make_channel())
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "broker", PASSWORD
    office.answers["AUTH"] = lambda line: f"535 not with {PASSWORD}, which came as {line}"

    assert mail.tell(timezone.now()) == 0
    assert "alert.not_mailed" in caplog.text
    assert PASSWORD not in caplog.text


def test_a_slip_of_the_pen_stops_the_start() -> None:
    with pytest.raises(ImproperlyConfigured, match="ALERT_EMAILS"):
        readable_addresses(["ops@example.com", "anna"])
    with pytest.raises(ImproperlyConfigured, match="EMAIL_SECURITY"):
        one_of("EMAIL_SECURITY", "ssl", "starttls", "tls")
    assert one_of("EMAIL_SECURITY", "tls", "starttls", "tls") == "tls"
