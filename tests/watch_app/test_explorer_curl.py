"""Commands that are copied: run by a real shell and a real curl, they send what was stored, byte for byte."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.receiver import Receiver, receiving
from watch_app.explorer.curl import MOST_IN_COMMAND, Command

NASTY = 'it\'s $HOME `id` "quoted" \\n !! * ~ # ; & | > %s {a,b} [1-3]\nsecond line\n'

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl found")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def run(command: Command, cwd: Path, **variables: str) -> None:
    environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cwd), **variables}
    text = command.text.replace("curl -i", "curl -q -s -S", 1)
    done = subprocess.run(["sh", "-c", text], cwd=cwd, env=environment, capture_output=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr


def sent(receiver: Receiver, tmp_path: Path, payload: bytes | None, **headers: str) -> dict[str, str]:
    command = Command(f"{receiver.url}/in", {"Content-Type": "a/b", **headers}, {}, payload, "m 1'.payload")
    run(command, tmp_path)
    return receiver.deliveries[-1].headers


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a": "b"}',
        NASTY.encode(),
        b"@/etc/hostname",
        b"-d x",
        "Größe 😀 \u202e".encode(),
        b"two\r\nlines\r\n",
        b"\tindented",
        bytes(range(256)),
        b"\xff\xfe",
        b"x" * MOST_IN_COMMAND,
        b"\x00" * MOST_IN_COMMAND,
    ],
    ids=lambda payload: repr(payload[:12]),
)
def test_a_payload_arrives_byte_for_byte(receiver: Receiver, tmp_path: Path, payload: bytes) -> None:
    headers = sent(receiver, tmp_path, payload)
    assert receiver.deliveries[-1].body == payload
    assert headers["content-type"] == "a/b"


def test_a_long_payload_is_taken_from_a_file(receiver: Receiver, tmp_path: Path) -> None:
    (tmp_path / "m 1'.payload").write_bytes(b"\x00long" * 100_000)
    sent(receiver, tmp_path, None)
    assert receiver.deliveries[-1].body == b"\x00long" * 100_000


@pytest.mark.parametrize(
    "value", ["plain", 'it\'s $HOME `id` "x" \\ %s', "", "caf\xe9", "caf\xc3\xa9", "a\tb", "@file", "'; exit 1; '"]
)
def test_a_header_arrives_as_it_was_kept(receiver: Receiver, tmp_path: Path, value: str) -> None:
    assert sent(receiver, tmp_path, b"x", **{"X-Kept": value})["x-kept"] == value


def test_secrets_come_from_the_shell_and_nothing_else_does(receiver: Receiver, tmp_path: Path) -> None:
    command = Command("$WHERE", {"X-A": "$TOKEN"}, {"X-Token": "TOKEN"}, b"$TOKEN", "f")
    assert "s3cret" not in command.text
    run(command, tmp_path, TOKEN="s3cret", WHERE=f"{receiver.url}/in?a=[1-3]")
    got = receiver.deliveries[-1]
    assert (got.headers["x-token"], got.headers["x-a"], got.body) == ("s3cret", "$TOKEN", b"$TOKEN")


def test_an_address_is_no_pattern(receiver: Receiver, tmp_path: Path) -> None:
    run(Command(f"{receiver.url}/in?a={{1,2}}&b=[1-3]&c='$HOME", {}, {}, b"x", "f"), tmp_path)
    assert [one.path for one in receiver.deliveries] == ["/in?a={1,2}&b=[1-3]&c='$HOME"]
