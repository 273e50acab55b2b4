"""Where settings come from: the environment, then .env, then a secret made in the data directory."""

import contextlib
import os
import secrets
import tempfile
from datetime import time
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email
from environs import Env

from broker_project.lib import secret_files, webhooks
from broker_project.lib.callback_url import check_callback_url
from broker_project.lib.egress import allowed_from

BASE_DIR = Path(__file__).resolve().parents[2]
DEVELOPMENT_MARK = "development-"

env = Env()
env.read_env(str(BASE_DIR / ".env"), recurse=False)

# Everything the broker writes on this machine: embedded databases, logs, generated secrets.
DATA_DIR = Path(env.str("BROKER_DATA_DIR", str(BASE_DIR / ".broker"))).resolve()


def from_environment(name: str, default: str = "") -> str:
    """A secret given as NAME, or as NAME_FILE holding it (Docker and Kubernetes secrets)."""
    return secret_files.given(name, os.environ, default)


def several_from_environment(name: str) -> list[str]:
    """Several, comma separated; none where nothing is given."""
    return [one.strip() for one in from_environment(name).split(",") if one.strip()]


def development_secret(name: str) -> str:
    """A secret made once and kept in the data directory; marked, so that production refuses it."""
    path = DATA_DIR / "secrets" / name
    if not path.exists():
        _write_once(path, DEVELOPMENT_MARK + secrets.token_urlsafe(50))
    return path.read_text().strip()


def _write_once(path: Path, text: str) -> None:
    """Of several processes that start together one writes, and none reads a half-written file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    Path(draft).unlink()


def production_secret(name: str, least: int) -> str:
    """A secret that must be given, must not come from development and must be long enough."""
    return _checked(name, from_environment(name), least)


def production_secrets(name: str, least: int) -> list[str]:
    """Several, comma separated, each as good as a single one."""
    return [_checked(name, value, least) for value in from_environment(name).split(",")]


def _checked(name: str, value: str, least: int) -> str:
    if not value:
        raise ImproperlyConfigured(
            f"{name} (or {name}_FILE) must be set in production. Make one with: ./broker secrets"
        )
    if DEVELOPMENT_MARK in value:
        raise ImproperlyConfigured(f"{name} is a development secret. Make one for production with: ./broker secrets")
    if len(value) < least:
        raise ImproperlyConfigured(f"{name} is too short: {least} characters at least.")
    return value


def readable_egress(entries: list[str]) -> list[str]:
    """As they are, if the guard can read them: a slip of the pen stops the start, not the first delivery."""
    try:
        allowed_from(entries)
    except ValueError as error:
        raise ImproperlyConfigured(f"EGRESS_ALLOW: {error}.") from error
    return entries


def readable_webhook(url: str) -> str:
    """As it is, if it can be posted to."""
    try:
        if url:
            check_callback_url(url)
    except ValidationError as error:
        raise ImproperlyConfigured(f"OPERATIONS_WEBHOOK_URL: {error.message}") from error
    return url


def readable_secret(secret: str) -> str:
    """As it is, if it can sign."""
    try:
        webhooks.sign(b"", message_id="", at=0, live=[secret])
    except ValueError as error:
        raise ImproperlyConfigured("OPERATIONS_WEBHOOK_SECRET is whsec_ and base64.") from error
    return secret


def readable_time(text: str) -> str:
    """As it is, if a clock can show it."""
    try:
        return text and f"{time.fromisoformat(text):%H:%M}"
    except ValueError as error:
        raise ImproperlyConfigured("REPORT_NIGHTLY_AT is HH:MM, or empty.") from error


def readable_addresses(addresses: list[str]) -> list[str]:
    """As they are, if mail can be sent to each."""
    try:
        for address in addresses:
            validate_email(address)
    except ValidationError as error:
        raise ImproperlyConfigured("ALERT_EMAILS are e-mail addresses, comma separated.") from error
    return addresses


def one_of(name: str, text: str, *words: str) -> str:
    """As it is, if it is one of these."""
    if text not in words:
        raise ImproperlyConfigured(f"{name} is one of: {', '.join(words)}.")
    return text
