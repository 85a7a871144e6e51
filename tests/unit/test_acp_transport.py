"""The lines between us and a program over ACP: garbage is skipped and counted, and nothing grows without a bound."""

import asyncio
from typing import Any

from gshtui.features.acp.acp_process import MOST_UNANSWERED, ClientTransport
from gshtui.programs.acp.acp_transport import MOST_GARBAGE, LineTransport


async def _pace() -> None:
    return None


def _transport(data: bytes, noted: list[str] | None = None, longest: int = 1_000) -> LineTransport:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    writer: Any = None
    notes = noted if noted is not None else []
    return LineTransport(reader, writer, pace=_pace, longest=longest, noted=notes.append)


async def test_messages_come_in_order_and_what_is_none_is_skipped() -> None:
    noted: list[str] = []
    transport = _transport(b'hello\n{"a": 1}\n\n[1]\n{"b"\n{"a": 2}\n{"a": 3}', noted)
    assert [await transport.receive() for _ in range(3)] == [{"a": 1}, {"a": 2}, None]
    assert noted == ["hello"] and transport.fault == ""


async def test_too_much_garbage_ends_the_connection() -> None:
    transport = _transport(b"x\n" * (MOST_GARBAGE + 1) + b'{"a": 1}\n')
    assert await transport.receive() is None
    assert "lines that are no messages" in transport.fault


async def test_a_line_that_is_too_long_ends_the_connection() -> None:
    for data in (b'{"a": "' + b"x" * 2_000, b'{"a": "' + b"x" * 2_000 + b'"}\n'):
        transport = _transport(data)
        assert await transport.receive() is None
        assert "sent a message of more than" in transport.fault


async def test_deeply_nested_json_is_garbage() -> None:
    transport = _transport(b"[" * 100_000 + b"\n" + b'{"a": 1}\n', longest=1 << 20)
    assert await transport.receive() == {"a": 1}


async def test_nothing_is_read_while_the_reader_is_behind() -> None:
    gate = asyncio.Event()
    reader = asyncio.StreamReader()
    reader.feed_data(b'{"a": 1}\n')
    writer: Any = None
    transport = LineTransport(reader, writer, pace=gate.wait, noted=lambda line: None)  # type: ignore[arg-type]
    reading = asyncio.create_task(transport.receive())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not reading.done()
    gate.set()
    assert await reading == {"a": 1}


async def test_a_client_that_reads_no_answers_is_read_no_further() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"".join(b'{"id": %d, "method": "x"}\n' % number for number in range(MOST_UNANSWERED + 5)))
    sent = bytearray()

    class Writer:
        def write(self, data: bytes) -> None:
            sent.extend(data)

        async def drain(self) -> None: ...

    writer: Any = Writer()
    transport = ClientTransport(reader, writer, lambda line: None)
    for _ in range(MOST_UNANSWERED):
        assert await transport.receive() is not None
    waiting = asyncio.create_task(transport.receive())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    await transport.send({"id": 0, "result": {}})
    assert (await waiting or {})["id"] == MOST_UNANSWERED
    assert sent == b'{"id":0,"result":{}}\n'
