"""Turns, requests, tools and questions as OpenTelemetry traces, by the official SDK, for collectors that speak OTLP.

Off unless `OTEL_TRACES_EXPORTER` is `otlp`; the other variables of the standard say where to and how. Names and numbers
go out; prompts and answers only with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true`, without secrets. What
a collector does holds up nobody: spans are sent by a thread of the SDK's.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gshtui import __version__
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import IterationStarted, ToolFinished, ToolStarted, TurnFinished, TurnStarted
from gshtui.bus.events.agent_events import UsageReported as Used
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line

WITHIN = 3.0
"""Seconds that the last spans may take when the process ends."""
_PROVIDERS = {"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock", "azure": "azure.ai.openai"}
"""Those that the semantic conventions name otherwise."""


def is_wanted(environ: Mapping[str, str]) -> bool:
    """Whether the environment asks for traces, by the standard's own word."""
    exporters = environ.get("OTEL_TRACES_EXPORTER", "").split(",")
    return "otlp" in (one.strip() for one in exporters) and environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


class TraceExport:
    """Subscribes to what agents of this process do. Only where `is_wanted`."""

    def __init__(
        self,
        bus: Bus,
        environ: Mapping[str, str],
        redact: Callable[[str], str],
        carried: Callable[[str], bool],
    ) -> None:
        """
        Args:
            redact: takes secrets out of contents.
            carried: whether an agent's own hub exports what it does.
        """
        self._environ = environ
        self._redact = redact
        self._carried = carried
        self._contents = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower() == "true"
        self._provider: Any = None
        self._turns: dict[tuple[str, str], Any] = {}
        self._open: dict[tuple[str, str, str], Any] = {}
        """Spans within a turn, by agent, conversation and what they are of."""
        try:
            self._start()
        except ImportError:
            text = (
                "Traces are asked for by OTEL_TRACES_EXPORTER, but OpenTelemetry's SDK is not installed beside gsh-tui."
            )
            hint = "`pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http` brings it."
            bus.publish(Noticed(level="warning", text=text, hint=hint, about="telemetry"))
            return
        if wanted := _other_protocol(environ):
            text = f"Traces are sent by OTLP over HTTP with protobuf, not by {wanted}, which the environment asks for."
            hint = "Name the collector's address for HTTP, whose port is 4318 as a rule."
            bus.publish(Noticed(level="warning", text=text, hint=hint, about="telemetry"))
        types = (TurnStarted, IterationStarted, Used, ToolStarted, ToolFinished, ApprovalRequested, ApprovalSettled)
        bus.subscribe(self._handle_events, *types, TurnFinished, name="traces")

    def _start(self) -> None:
        trace: Any = importlib.import_module("opentelemetry.trace")
        sdk: Any = importlib.import_module("opentelemetry.sdk.trace")
        export: Any = importlib.import_module("opentelemetry.sdk.trace.export")
        resources: Any = importlib.import_module("opentelemetry.sdk.resources")
        http: Any = importlib.import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        exporter = http.OTLPSpanExporter(endpoint=_endpoint(self._environ))
        name = self._environ.get("OTEL_SERVICE_NAME", "") or "gsh-tui"
        resource = resources.Resource.create({"service.name": name, "service.version": __version__})
        self._provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(export.BatchSpanProcessor(exporter))
        self._tracer: Any = self._provider.get_tracer("gsh-tui", __version__)
        self._within: Any = trace.set_span_in_context
        self._failed: Any = trace.StatusCode.ERROR

    def _handle_events(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if not self._carried(getattr(event, "agent", "")):
                self._handle(event)

    def _handle(self, event: Event) -> None:
        match event:
            case TurnStarted():
                attributes = {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.agent.name": event.agent,
                    "gen_ai.conversation.id": event.session,
                }
                span = self._tracer.start_span(
                    f"invoke_agent {event.agent}", None, attributes=attributes, start_time=_ns(event)
                )
                self._turns[event.agent, event.session] = span
                if self._contents:
                    span.set_attribute("gen_ai.input.messages", self._redact(event.text))
            case IterationStarted():
                self._begin(event, "request", "chat", {"gen_ai.operation.name": "chat"})
            case Used() if event.iteration:
                cost = {} if event.cost is None else {"gsh.cost_usd": event.cost}
                spent = event.usage
                self._end(
                    event,
                    "request",
                    name=f"chat {event.model}",
                    attributes={
                        "gen_ai.provider.name": _PROVIDERS.get(event.provider, event.provider),
                        "gen_ai.request.model": event.model,
                        "gen_ai.usage.input_tokens": spent.input + spent.cache_read + spent.cache_write,
                        "gen_ai.usage.output_tokens": spent.output,
                        "gen_ai.usage.cache_read.input_tokens": spent.cache_read,
                        "gen_ai.usage.cache_creation.input_tokens": spent.cache_write,
                        **cost,
                    },
                )
            case ToolStarted():
                self._begin(
                    event,
                    event.call,
                    f"execute_tool {event.tool}",
                    {
                        "gen_ai.operation.name": "execute_tool",
                        "gen_ai.tool.name": event.tool,
                        "gen_ai.tool.call.id": event.call,
                    },
                )
            case ToolFinished():
                failed = "" if event.status == "ok" else event.status
                self._end(event, event.call, attributes={"gsh.tool.status": event.status}, failed=failed)
            case ApprovalRequested():
                attributes = {"gen_ai.tool.name": event.tool, "gsh.effect": event.effect}
                self._begin(event, event.approval, "question", attributes)
            case ApprovalSettled():
                for key in [one for one in self._open if one[2] == event.approval]:
                    self._close(key, event, {"gsh.decision": str(event.decision)}, "")
            case TurnFinished():
                self._finish(event)
            case _:
                pass

    def _begin(self, event: Any, what: str, name: str, attributes: dict[str, Any]) -> None:
        turn = self._turns.get((event.agent, event.session))
        above = None if turn is None else self._within(turn)
        key = (event.agent, event.session, what)
        if key in self._open:  # the one before ended without a word, as a request that failed does
            self._close(key, event, {}, "error")
        self._open[key] = self._tracer.start_span(name, above, attributes=attributes, start_time=_ns(event))

    def _end(self, event: Any, what: str, *, name: str = "", attributes: dict[str, Any], failed: str = "") -> None:
        span = self._open.get((event.agent, event.session, what))
        if span is not None and name:
            span.update_name(name)
        self._close((event.agent, event.session, what), event, attributes, failed)

    def _close(self, key: tuple[str, str, str], event: Event, attributes: dict[str, Any], failed: str) -> None:
        span = self._open.pop(key, None)
        if span is None:
            return
        span.set_attributes(attributes)
        if failed:
            span.set_attribute("error.type", failed)
            span.set_status(self._failed)
        span.end(_ns(event))

    def _finish(self, event: TurnFinished) -> None:
        kind = event.error_kind or ("error" if event.error else "")
        for key in [one for one in self._open if one[:2] == (event.agent, event.session)]:
            self._close(key, event, {}, kind or "ended")
        span = self._turns.pop((event.agent, event.session), None)
        if span is None:
            return
        span.set_attribute("gsh.stop", event.stop)
        if self._contents:
            span.set_attribute("gen_ai.output.messages", self._redact(event.text))
        if kind:
            span.set_attribute("error.type", kind)
            span.set_status(self._failed)
        span.end(_ns(event))

    async def close(self) -> None:
        """Send what is left, within a few seconds. Never raises."""
        provider, self._provider = self._provider, None
        if provider is None:
            return
        done, loop = asyncio.Event(), asyncio.get_running_loop()

        def shut() -> None:
            try:
                provider.shutdown()
            finally:
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut, name="traces", daemon=True).start()
        try:
            async with time_limit(WITHIN):
                await done.wait()
        except TimeoutError:
            return


def _ns(event: Event) -> int:
    return int(event.at * 1_000_000_000)


def _other_protocol(environ: Mapping[str, str]) -> str:
    """The protocol that is asked for, if it is not ours."""
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    asked = next((text for name in names if (text := environ.get(name, "").strip())), "")
    return "" if asked == "http/protobuf" else one_line(asked, 40)


def _endpoint(environ: Mapping[str, str]) -> str | None:
    """Where to; `None`: the standard's default."""
    if own := environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""):
        return own
    base = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    return f"{base.rstrip('/')}/v1/traces" if base else None
