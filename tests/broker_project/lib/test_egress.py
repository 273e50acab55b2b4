"""Where messages may be sent."""

import os
import subprocess
import sys

import pytest

from broker_project.lib.callback_url import may_register
from broker_project.lib.egress import allowed_from
from tests.acceptance.servers import ROOT

LOOPBACK = [
    "127.0.0.1", "127.1", "2130706433", "0x7f.1", "0x7f000001", "017700000001", "127.0.0.1.", "[::1]", "[0:0::1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "LOCALHOST", "localhost.", "app.localhost",
]  # fmt: skip


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.5.4", "192.168.1.1", "169.254.169.254", "0.1.2.3", "224.0.0.1", "100.64.0.1",
        "::1", "fe80::1", "fc00::1", "ff02::1", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "::127.0.0.1", "::ffff:0:7f00:1", "fec0::1", "5f00::1", "192.0.0.8",
    ],
)  # fmt: skip
def test_an_address_of_our_own_network_is_refused(address: str) -> None:
    assert not allowed_from([]).permits(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_a_public_address_is_permitted(address: str) -> None:
    assert allowed_from([]).permits(address)


def test_what_is_allowed_by_range_is_permitted_and_nothing_beside_it() -> None:
    egress = allowed_from(["10.1.0.0/16", " ::1 ", ""])

    assert egress.permits("10.1.2.3")
    assert egress.permits("::ffff:10.1.2.3")
    assert egress.permits("::1")
    assert not egress.permits("10.2.0.1")


@pytest.mark.parametrize("host", [*LOOPBACK, "169.254.169.254", "10.0.0.1", "0xa.1", "[fe80::1%25eth0]", "0", "224.1"])
def test_an_address_of_our_own_network_is_not_registered_however_it_is_spelt(host: str) -> None:
    assert not may_register(f"http://{host}:8080/hook", allowed_from([]))


@pytest.mark.parametrize("host", [*LOOPBACK, "example.com", "10.example.com", "8.8.8.8", "134744072"])
def test_what_is_allowed_public_or_a_name_is_registered(host: str) -> None:
    assert may_register(f"https://{host}/hook", allowed_from(["127.0.0.0/8", "::1"]))


def test_a_host_is_allowed_by_its_whole_name_or_by_what_it_is_below() -> None:
    egress = allowed_from(["Hooks.example.internal", "*.svc.local", "my_service"])

    allowed = ("hooks.example.internal", "HOOKS.EXAMPLE.INTERNAL.", "a.svc.local", "a.b.svc.local", "my_service")
    assert all(map(egress.names, allowed))
    others = ("example.internal", "x.hooks.example.internal", "svc.local", "evilsvc.local", "a.svc.local.evil.com", "")
    assert not any(map(egress.names, others))
    assert may_register("http://app.localhost/", allowed_from(["*.localhost"]))
    assert not egress.permits("10.0.0.1")


@pytest.mark.parametrize(
    "entry", ["10.0.0.300", "10.0.0", "127.1", "http://hooks.internal", "hooks.internal:80", "*", "a b", "*.*.x", "-a"]
)
def test_an_entry_that_nobody_can_read_is_an_error_that_names_it(entry: str) -> None:
    with pytest.raises(ValueError, match="neither a range") as refusal:
        allowed_from(["10.0.0.0/8", entry])

    assert repr(entry) in str(refusal.value)


def test_with_such_an_entry_nothing_starts() -> None:
    environment = {**os.environ, "EGRESS_ALLOW": "127.0.0.1,10.0.0.300"}

    started = subprocess.run(
        [sys.executable, "manage.py", "check"], cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )

    assert started.returncode != 0
    assert "EGRESS_ALLOW: '10.0.0.300' is neither a range" in started.stderr
