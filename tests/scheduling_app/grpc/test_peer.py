import pytest

from scheduling_app.grpc.peer import address_of, peer_of


@pytest.mark.parametrize(
    ("written", "peer", "address"),
    [
        ("ipv4:127.0.0.1:5000", "127.0.0.1:5000", "127.0.0.1"),
        ("ipv6:%5B::1%5D:5000", "[::1]:5000", "::1"),
        ("ipv6:[2001:db8::1]:5000", "[2001:db8::1]:5000", "2001:db8::1"),
    ],
)
def test_an_address_is_read_with_and_without_its_port(written: str, peer: str, address: str) -> None:
    assert (peer_of(written), address_of(written)) == (peer, address)
