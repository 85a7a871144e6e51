"""Traces for a collector: a turn with its requests, tools and questions, by OTLP, without contents and secrets."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from gshtui.agents.trace_export import TraceExport, is_wanted
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from tests.kit.loopback.script import Call, Say
from tests.kit.mcp_turns import agent_with, ask


def value(attribute: Any) -> Any:
    kind = attribute.value.WhichOneof("value")
    return getattr(attribute.value, kind)


@pytest.mark.parametrize("contents", ["", "true"])
async def test_a_turn_is_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, contents: str) -> None:
    bodies = list[bytes]()

    async def collect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("post /v1/traces ")
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length"))
        bodies.append(await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    (tmp_path / "a.txt").write_text("WOMBAT")
    server = await asyncio.start_server(collect, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for name, text in (
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", address),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", contents),
        ("MY_API_KEY", "hunter2-hunter2"),
    ):
        monkeypatch.setenv(name, text)
    script = [[Call("read", {"path": "a.txt"}), Call("read", {"path": "none.txt"})], [Say("done")]]
    async with server, agent_with(tmp_path, monkeypatch, script) as (hub, _provider, _):
        await ask(hub, "Tell of the NUMBAT with hunter2-hunter2.")
        await hub.stop()
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    by_name = {name: [span for span in spans if span.name == name] for name in {span.name for span in spans}}
    (turn,) = by_name["invoke_agent main"]
    requests = next(spans for name, spans in by_name.items() if name.startswith("chat "))
    tools = by_name["execute_tool read"]
    assert (len(requests), len(tools)) == (2, 2) and len(spans) == 5
    assert all(span.parent_span_id == turn.span_id and span.trace_id == turn.trace_id for span in (*requests, *tools))
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)
    facts = {one.key: value(one) for one in requests[0].attributes}
    assert facts["gen_ai.provider.name"] == "anthropic" and facts["gen_ai.usage.input_tokens"] > 0
    failed = [{one.key: value(one) for one in span.attributes}.get("error.type") for span in tools]
    assert sorted(failed, key=str) == [None, "error"]
    sent = b"".join(bodies)
    assert (b"NUMBAT" in sent) == (contents == "true") and b"hunter2" not in sent and b"WOMBAT" not in sent


async def test_a_protocol_that_is_not_spoken_is_said() -> None:
    said: list[str] = []
    for protocol in ("grpc", "http/protobuf", ""):
        bus = Bus()
        bus.subscribe(
            lambda batch: said.extend(one.text for one in batch if isinstance(one, Noticed)), Noticed, name="notices"
        )
        environ = {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        export = TraceExport(bus, environ, str, lambda _: False)
        await bus.drained()
        await export.close()
    assert ["not by grpc" in one for one in said] == [True]


def test_traces_are_sent_only_where_the_environment_asks_for_them() -> None:
    assert not is_wanted({}) and not is_wanted({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    assert is_wanted({"OTEL_TRACES_EXPORTER": "console, otlp"})
    assert not is_wanted({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"})
