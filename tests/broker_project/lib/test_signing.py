"""The gateway's signature."""

import pytest

from broker_project.lib.signing import SignatureMissing, SignatureRefused, sign, verify

NOW = 1_750_000_000


def test_a_fresh_signature_by_any_live_secret_passes() -> None:
    for secret in ("old", "new"):
        verify(sign(b"body", secret=secret, at=NOW), b"body", secrets=["new", "old"], now=NOW + 299)


def test_the_signature_is_what_the_contract_says() -> None:
    # printf '1750000000.body' | openssl dgst -sha256 -hmac s
    digest = "1f894887f92f72e5a64e6c838521414a50e17896f8be90d72b6a4f8d0bbbbfb8"

    assert sign(b"body", secret="s", at=NOW) == f"t=1750000000,v1={digest}"


@pytest.mark.parametrize("header", ["", "v1=aa", "t=1,v1=xyz", "t=x,v1=" + "0" * 64, "t=1,v1=" + "0" * 63])
def test_a_missing_or_malformed_one_is_401(header: str) -> None:
    with pytest.raises(SignatureMissing) as refusal:
        verify(header, b"body", secrets=["s"], now=NOW)
    assert refusal.value.status == 401


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (sign(b"body", secret="s", at=NOW - 301), b"body"),
        (sign(b"body", secret="s", at=NOW + 301), b"body"),
        (sign(b"body", secret="other", at=NOW), b"body"),
        (sign(b"body", secret="s", at=NOW), b"another body"),
    ],
)
def test_an_old_or_wrong_one_is_403(header: str, body: bytes) -> None:
    with pytest.raises(SignatureRefused) as refusal:
        verify(header, body, secrets=["s"], now=NOW)
    assert refusal.value.status == 403
