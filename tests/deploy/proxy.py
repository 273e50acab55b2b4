"""The real nginx with the configuration in deploy/proxy: only addresses, ports and certificates are the test's own."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.acceptance.running import is_open
from tests.acceptance.servers import free_port, wait_until
from tests.deploy.knobs import TOP

PROXY = TOP / "deploy" / "proxy"
# Debian has it where only root looks.
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="there is no nginx on this machine")

Ports = dict[str, list[int]]


@dataclass(frozen=True)
class Proxy:
    port: int
    plain_port: int
    certificate: Path
    directory: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@contextmanager
def proxying(directory: Path, upstreams: Ports, files: dict[str, str] | None = None) -> Iterator[Proxy]:
    """In front of these ports, by the names in upstreams.conf; with other files than those in deploy/proxy, if told."""
    assert NGINX
    proxy = Proxy(free_port(), free_port(), directory / "certificate.pem", directory)
    _make_certificate(directory)
    _place(proxy, upstreams, files or {path.name: path.read_text() for path in PROXY.glob("*.conf")})
    # Root's nginx would work as another account, which does not get into a test's folder.
    manners = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    process = subprocess.Popen([NGINX, "-c", directory / "nginx.conf", "-g", manners])
    try:
        wait_until(lambda: is_open(proxy.plain_port), 30)
        yield proxy
    finally:
        process.terminate()
        process.wait(timeout=30)


def _place(proxy: Proxy, upstreams: Ports, files: dict[str, str]) -> None:
    for name, text in files.items():
        (proxy.directory / name).write_text(_ours(text, proxy))
    (proxy.directory / "upstreams.conf").write_text(_local(files["upstreams.conf"], upstreams))


def _ours(text: str, proxy: Proxy) -> str:
    here = {
        "/tmp/": f"{proxy.directory}/",  # noqa: S108
        "/dev/stdout": f"{proxy.directory}/access.log",
        # A server that is away is a line for each request: it would bury what a test has to say.
        "error_log stderr": f"error_log {proxy.directory}/error.log",
        "/run/secrets/tls_certificate": str(proxy.certificate),
        "/run/secrets/tls_key": f"{proxy.directory}/key.pem",
        "listen 8080": f"listen 127.0.0.1:{proxy.plain_port}",
        "listen 8443": f"listen 127.0.0.1:{proxy.port}",
        "worker_processes auto": "worker_processes 1",
    }
    for there, ours in here.items():
        text = text.replace(there, ours)
    return text


def _local(text: str, upstreams: Ports) -> str:
    """No Docker to ask for names, and Debian's nginx is older than the word `resolve`."""

    def servers(found: re.Match[str]) -> str:
        ports = upstreams.get(found[1], [1])
        return found[0].replace(found[2], "".join(f"    server 127.0.0.1:{port} max_fails=0;\n" for port in ports))

    text = re.sub(r"^resolver .*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"upstream (\w+) \{[^}]*?((?: +server [^\n]+\n)+)", servers, text)


def _make_certificate(directory: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=2))
    signed = made.sign(key, hashes.SHA256())
    (directory / "certificate.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (directory / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
