"""Where messages may be sent."""

import pytest

from broker_project.lib.egress import allowed_from


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
