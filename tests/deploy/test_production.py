"""The production profile, as a process: clean by Django's own measure, and closed without real secrets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_project.settings.environment import DEVELOPMENT_MARK
from tests.deploy.knobs import TOP

GOOD = {
    "SECRET_KEY": "Zb3Qk9wXr7Tn1Vy5Lc8Hd2Gm6Js4Pf0AuEoIiUaYeRtWqZxCvBnM",
    "TOKEN_KEYS": "mK7rT2xW9qZ4vB6nL1cH8dG3jS5pF0aU",
    "FLOWER_PASSWORD": "hT5mQ8xR2wZ7vK4n",
}


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
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    return subprocess.run(command, check=False, cwd=TOP, env=environment, capture_output=True, text=True)


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


def test_a_secret_may_come_from_a_file(production: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").write_text(GOOD["SECRET_KEY"] + "\n")
    done = _check(production | {"SECRET_KEY": "", "SECRET_KEY_FILE": str(tmp_path / "key")})
    assert (done.returncode, done.stderr) == (0, "")


def test_production_makes_no_secrets_of_its_own(production: dict[str, str], tmp_path: Path) -> None:
    _check(production)
    assert list(tmp_path.iterdir()) == []


def test_production_asks_for_host_names(production: dict[str, str]) -> None:
    done = _check(production | {"ALLOWED_HOSTS": ""})
    assert done.returncode != 0
    assert "ALLOWED_HOSTS must not be empty" in done.stderr
