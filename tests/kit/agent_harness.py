"""An agent at work without a window: bus, gate, toolbox and agent around a scripted provider and a record in memory."""

import asyncio
from pathlib import Path
from typing import ClassVar

from gshtui.agents.agent import Agent
from gshtui.agents.conversation import Conversation, MemoryRecord
from gshtui.agents.ports import ModelHandle, Record
from gshtui.agents.toolbox import Toolbox, WorkDirs
from gshtui.bus.agent_data import Respondent
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    RuleScope,
)
from gshtui.commands.group import group
from gshtui.commands.registry import Registry
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.assembly.system_section import system_source
from gshtui.context.engine import ContextEngine
from gshtui.context.log.ports import ContextStore, MemoryContextStore
from gshtui.guard.approval.gate import Gate
from gshtui.system.ids import new_id
from tests.kit.memory_rules import MemoryRules
from tests.kit.scripted_provider import Recorder, ScriptedProvider


class ToolParameters(Parameters):
    """Parameters of the harness's tools."""

    text: str = ""
    command: str = ""


class KeepNote(ToolParameters, Returns[Outcome]):
    """Keep a note."""

    COMMAND: ClassVar[str] = "note"
    WORD: ClassVar[str] = "keep"


class DropNote(KeepNote):
    """Drop a note, as people alone may."""

    WORD: ClassVar[str] = "drop"


class AgentHarness:
    """Make it inside a running loop; `close` at the end."""

    def __init__(
        self,
        folder: Path,
        provider: ScriptedProvider,
        *,
        record: Record | None = None,
        respondent: Respondent = "person",
        auto_approve: frozenset[str] = frozenset(),
        max_iterations: int = 10,
        max_steps: int = 50,
        fresh: bool = True,
        timeout: float | None = None,
        store: ContextStore | None = None,
        settings: ContextSettings | None = None,
    ) -> None:
        self.bus = Bus()
        self.recorder = Recorder(self.bus)
        self.provider = provider
        self.record = record or MemoryRecord()
        self.ran: list[str] = []
        self.started = asyncio.Event()
        self.running = 0
        self.most_running = 0
        self.rules = MemoryRules(folder)
        self.gate = Gate(
            self.bus,
            respondent=respondent,
            auto_approve=auto_approve,
            timeout=timeout,
            rules=self.rules.current,
            save=self.rules.save,
        )
        toolbox = Toolbox(
            self.bus, self._tools(), self.gate, "main", WorkDirs(folder, folder), self.record.put_output, 1_000
        )
        self.context_store = store or MemoryContextStore()
        self.engine = ContextEngine(
            self.bus,
            "main",
            self.context_store,
            settings or ContextSettings(output_bytes=1_000),
            (system_source(lambda: ("You are a test.",)),),
        )
        self.agent = Agent(self.bus, "main", toolbox, self.engine, self._choose, max_iterations, max_steps)
        self.conversation = Conversation(self.bus, self.record, "s1", "main", fresh=fresh)
        self.agent.converse(self.conversation)
        self.agent.start()

    async def _choose(self, provider: str, model: str) -> ModelHandle:
        return ModelHandle(self.provider, model or "scripted-1", "scripted")

    def _tools(self) -> Registry:
        async def look(invocation: Invocation, parameters: ToolParameters) -> Outcome:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            self.ran.append(f"look {parameters.text}")
            if parameters.text == "broken":
                raise CommandError("It is broken.", hint="Mend it.")
            if parameters.text == "bug":
                raise RuntimeError("a bug")
            invocation.output("looking\n")
            return Outcome(text="x" * 5_000 if parameters.text == "long" else f"saw {parameters.text}")

        async def act(invocation: Invocation, parameters: ToolParameters) -> Outcome:
            self.started.set()
            self.ran.append(f"act {parameters.command}")
            if parameters.command == "for ever":
                await asyncio.Event().wait()
            return Outcome({"did": parameters.command})

        async def assess(invocation: Invocation, parameters: ToolParameters) -> Assessment:
            return Assessment(
                Effect.EXECUTE,
                parameters.command,
                inside=not parameters.command.startswith("outside"),
                pattern=parameters.command.split()[0] + " …" if parameters.command else "",
                scope=RuleScope(parameters.command.split()[0]) if parameters.command else None,
            )

        return Registry(
            [
                Command("look", "Look", ToolParameters, look, tool=True, positions=("text",)),
                Command("act", "Act", ToolParameters, act, tool=True, effect=Effect.EXECUTE, assess=assess),
                Command("hidden", "Not a tool", ToolParameters, look),
                group(
                    "note",
                    "Notes",
                    Action(KeepNote, look, lambda _, outcome: outcome),
                    Action(DropNote, look, lambda _, outcome: outcome, access=Access.HUMAN_ONLY),
                    family="notes",
                    bare="keep",
                    tool=True,
                ),
            ]
        )

    async def send_prompt(self, text: str) -> str:
        """Send a prompt; returns its id."""
        id = new_id()
        self.bus.publish(PromptSubmitted(prompt=id, agent="main", text=text))
        return id

    async def run_turn(self, text: str) -> TurnFinished:
        """Send a prompt and wait for the end of its turn."""
        waiting = self.bus.wait_for(TurnFinished, timeout=60)
        await self.send_prompt(text)
        finished = await waiting
        await self.bus.drained()
        return finished

    async def close(self) -> None:
        await self.agent.stop()
        await self.gate.close()
        await self.bus.close()
