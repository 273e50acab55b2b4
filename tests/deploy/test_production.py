"""The production profile, as a process: clean by Django's own measure, and closed without real secrets."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from broker_project.settings.environment import DEVELOPMENT_MARK
from tests.deploy.knobs import TOP, read_knobs

GOOD = {
    "SECRET_KEY": "Zb3Qk9wXr7Tn1Vy5Lc8Hd2Gm6Js4Pf0AuEoIiUaYeRtWqZxCvBnM",
    "TOKEN_KEYS": "mK7rT2xW9qZ4vB6nL1cH8dG3jS5pF0aU",
    "FLOWER_PASSWORD": "hT5mQ8xR2wZ7vK4n",
}
OTHERS = {
    "REDIS_URL": "redis://:hidden@elsewhere/0",
    "ANALYTICS_DATABASE_URL": "postgresql://reader:hidden@replica/broker",
    "EMAIL_HOST_PASSWORD": "hidden",
    "GATEWAY_SECRETS": "one,two",
    "OPERATIONS_WEBHOOK_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}
KNOBS = read_knobs()
SECRETS = {name for name, knob in KNOBS.items() if knob.secret}
PRINT = "import json; from django.conf import settings as s; print(json.dumps({{n: getattr(s, n) for n in {names}}}))"


@pytest.fixture
def production(tmp_path: Path) -> dict[str, str]:
    """Nothing of this process's environment but the way to Python."""
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "broker_project.settings.production",
        "BROKER_DATA_DIR": str(tmp_path),
        "DATABASE_URL": "postgresql://broker@localhost/broker",
        "ALLOWED_HOSTS": "broker.example",
        **GOOD,
    }


def _check(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return _run(environment, "manage.py", "check", "--deploy", "--fail-level", "WARNING")


def _run(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], check=False, cwd=TOP, env=environment, capture_output=True, text=True
    )


def _as_setting(name: str, value: str) -> object:
    return value.split(",") if KNOBS[name].parser == "list" or name == "TOKEN_KEYS" else value


def test_the_deployment_check_of_django_is_clean(production: dict[str, str]) -> None:
    done = _check(production)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no issues (0 silenced)" in done.stdout


# An empty value, not a missing one: a developer's own .env must not fill it in.
@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("", "must be set in production"),
        (f"{DEVELOPMENT_MARK}{'x' * 60}", "is a development secret"),
        ("too-short", "is too short"),
    ],
    ids=["missing", "from development", "too short"],
)
@pytest.mark.parametrize("name", GOOD)
def test_production_refuses_a_bad_secret_and_does_not_repeat_it(
    production: dict[str, str], name: str, value: str, complaint: str
) -> None:
    done = _check(production | {name: value})
    last_line = done.stderr.strip().splitlines()[-1]
    assert done.returncode != 0
    assert f"{name} " in last_line
    assert complaint in last_line
    assert not value or value not in done.stdout + done.stderr


def test_every_secret_may_come_from_a_file(production: dict[str, str], tmp_path: Path) -> None:
    values = GOOD | OTHERS | {"DATABASE_URL": production["DATABASE_URL"]}
    assert values.keys() == SECRETS
    told = {name: value for name, value in production.items() if name not in SECRETS}
    for name, value in values.items():
        (tmp_path / name).write_text(f"{value}\n")
        told[f"{name}_FILE"] = str(tmp_path / name)
    done = _run(told, "-c", PRINT.format(names=sorted(SECRETS)))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {name: _as_setting(name, value) for name, value in values.items()}


@pytest.mark.parametrize("name", sorted(SECRETS))
def test_a_secret_file_that_is_not_there_stops_the_start_and_is_named(production: dict[str, str], name: str) -> None:
    done = _check(production | {f"{name}_FILE": "/nowhere/secret"})
    assert done.returncode != 0
    last_line = done.stderr.strip().splitlines()[-1]
    assert f"{name}_FILE: /nowhere/secret cannot be read: No such file or directory." in last_line
    assert not any(secret in done.stdout + done.stderr for secret in GOOD.values())


def test_what_sounds_like_a_secret_can_be_a_file() -> None:
    sounding = re.compile(r"(PASSWORD|SECRETS?|TOKENS?|KEYS?)$|^(\w+_)?DATABASE_URL$|^REDIS_URL$")
    assert {name for name in KNOBS if sounding.search(name)} == SECRETS


def test_production_makes_no_secrets_of_its_own(production: dict[str, str], tmp_path: Path) -> None:
    _check(production)
    assert list(tmp_path.iterdir()) == []


def test_production_asks_for_host_names(production: dict[str, str]) -> None:
    done = _check(production | {"ALLOWED_HOSTS": ""})
    assert done.returncode != 0
    assert "ALLOWED_HOSTS must not be empty" in done.stderr
