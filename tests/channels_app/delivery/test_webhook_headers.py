"""Headers on their way to a consumer: the bytes that came in go out."""

import asyncio

import pytest

from broker_project.lib.egress import allowed_from
from channels_app.delivery.webhook import open_session


def sent(value: str) -> bytes:
    """What a consumer reads from its socket when a header has this value."""

    async def story() -> bytes:
        heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.set_result(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with (
            server,
            open_session(allowed_from(["127.0.0.0/8"])) as session,
            session.post(url, data=b"body", headers={"X-Name": value}),
        ):
            return await heard

    return asyncio.run(story())


@pytest.mark.parametrize("raw", [b"plain", b"caf\xe9", "café €".encode(), bytes(range(0x80, 0x100))])
def test_a_value_goes_out_byte_for_byte(raw: bytes) -> None:
    assert b"\r\nX-Name: " + raw + b"\r\n" in sent(raw.decode("latin1"))
