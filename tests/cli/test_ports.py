import os
import socket

import pytest

from broker_project.cli import ports


def test_free_ports_pass() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ports.check([("127.0.0.1", port)])


def test_a_taken_port_is_named_with_who_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ports.PortTaken) as refusal:
            ports.check([("127.0.0.1", port)])
    assert f"Port {port} of 127.0.0.1 is taken by" in str(refusal.value)
    assert f"(pid {os.getpid()})" in str(refusal.value)


def test_an_address_of_another_machine_is_not_to_be_had() -> None:
    with pytest.raises(ports.PortTaken, match="not to be had"):
        ports.check([("192.0.2.1", 8000)])
