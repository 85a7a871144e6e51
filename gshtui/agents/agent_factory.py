"""Creates a native agent in any process: its tools behind the guard, its context engine and its limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from gshtui.agents.agent import Agent, ChooseModel
from gshtui.agents.checkpoints import Checkpoints
from gshtui.agents.context_assembly import make_engine, make_instructions
from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.loop import TurnLimit, unlimited
from gshtui.agents.ports import Record
from gshtui.agents.toolbox import PrepareTools, ReadMentions, Toolbox, WorkDirs
from gshtui.bus.bus import Bus
from gshtui.commands.registry import Registry
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.cuts.summary import SummaryWriter
from gshtui.context.log.ports import ContextStore, Contribute, Contribution
from gshtui.guard.approval.gate import Gate
from gshtui.python.python_blocks import SECTION
from gshtui.settings.model import Settings


class AgentSurroundings(msgspec.Struct, frozen=True):
    """What every agent works with."""

    bus: Bus
    settings: Settings
    tools: Registry
    """The commands that it may use as tools, and no others."""
    gate: Gate
    choose: ChooseModel
    record: Record
    contexts: ContextStore | None
    """Stores what is sent; `None`: in memory, while this process lives."""
    dirs: WorkDirs
    redact: Callable[[str], str] | None = None
    """Takes secrets out of what tools return; `None`: they stay."""
    prepare: PrepareTools | None = None
    """Adds tools that can change while the agent works; `None`: there are none."""
    read_mentions: ReadMentions | None = None
    """Reads what a person's prompt names besides files; `None`: nothing does."""
    hooks: AgentHooks | None = None
    """Asked before and after what it does; `None`: there are none."""


class AgentCharacter(msgspec.Struct, frozen=True):
    """The texts and limits of one agent."""

    name: str
    sections: Callable[[], tuple[str, ...]]
    """The system section's texts, the facts of the environment last."""
    attended: Callable[[], bool]
    """Whether a person at a window can answer."""
    more: Sequence[Contribute] = ()
    """Further sources of text, asked after the system texts and AGENTS.md."""
    max_iterations: int = 0
    """Model requests a turn; 0: as the settings say."""
    max_steps: int = 0
    """Tool calls a turn; 0: as the settings say, which are the most in any case."""
    limit: TurnLimit = unlimited
    instructions: Contribute | None = None
    """Gives the files with instructions for agents; `None`: those of its folder on this machine."""
    checkpoints: Checkpoints | None = None
    """Keeps the files as they are before and after its turns; `None`: nothing does."""


def make_agent(around: AgentSurroundings, character: AgentCharacter) -> Agent:
    """The agent, listening; it has no model and no conversation yet, and answers nothing before its `start`."""
    own = None if character.instructions is not None else make_instructions(around.bus, character.name, around.dirs.cwd)
    table, steps = around.settings.context, around.settings.agent.max_steps
    toolbox = Toolbox(
        around.bus,
        around.tools,
        around.gate,
        character.name,
        around.dirs,
        around.record.put_output,
        table.max_tool_output_bytes,
        around.redact,
        blocks=around.settings.python.blocks,
        always_tools=around.settings.agent.always_tools,
        prepare=around.prepare,
        read_mentions=around.read_mentions,
        hooks=around.hooks,
        note_path=None if own is None else own.note_path,
    )

    toolbox.checkpoints = character.checkpoints

    def sections() -> tuple[str, ...]:
        """With what a model without tools is told of Python; the facts stay last."""
        *stable, facts = character.sections()
        handle = agent.model_handle
        told = handle is not None and toolbox.runs_blocks and not handle.provider.capabilities(handle.model).tools
        return (*stable, *([SECTION] if told else []), facts)

    async def told_by_hooks(_new: bool) -> Contribution:
        assert around.hooks is not None
        return await around.hooks.contribute(character.name)

    engine = make_engine(
        around.bus,
        character.name,
        around.contexts,
        table,
        around.dirs.cwd,
        sections,
        attended=character.attended,
        instructions=character.instructions or own,
        more=(*character.more, *([] if around.hooks is None else [told_by_hooks])),
    )
    agent = Agent(
        around.bus,
        character.name,
        toolbox,
        engine,
        around.choose,
        character.max_iterations or table.max_iterations,
        min((most for most in (steps, character.max_steps) if most), default=steps),
        character.limit,
        around.hooks,
    )
    if around.hooks is not None:
        hooks = around.hooks

        async def before_cut(order: CutRequest) -> str:
            given: dict[str, object] = {
                "trigger": "auto" if order.automatic else "manual",
                "custom_instructions": order.focus,
            }
            return (await hooks.ask("PreCompact", character.name, agent.session, given, str(given["trigger"]))).denied

        engine.before_compaction = before_cut
    if small := around.settings.agent.small_model:

        async def choose_small() -> SummaryWriter:
            handle = await around.choose("", small)
            return SummaryWriter(handle.provider, handle.model)

        engine.choose_small = choose_small
    return agent
