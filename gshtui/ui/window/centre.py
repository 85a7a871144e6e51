"""Makes the widgets of the centre and joins them to the bridge: conversation, approvals, queue, input line.

Owns what they are told of the hub (stored messages, completion, history); refuses to lay them out. Called by the app.
"""

from __future__ import annotations

from textual.widget import Widget

from gshtui.ui.kit.bridge import Bridge, NotReady
from gshtui.ui.prompt.sources import CommandSource
from gshtui.ui.window.parts import Centre
from gshtui.ui.window.prompt_area import PromptArea


def make_centre(bridge: Bridge) -> Centre:
    """The centre of a window whose hub is behind this bridge."""
    agent = bridge.opening.agent or "main"
    area = PromptArea(agent, project=bridge.opening.cwd, completions=[CommandSource(bridge.complete)])

    def connect() -> None:
        _connect(bridge, area)

    def chat() -> Widget:
        from gshtui.ui.conversation.conversation import ConversationPane

        return ConversationPane(bridge.messages, bridge.ran, agent=agent)

    return Centre(
        chat=chat,
        below=[area],
        input=area.input,
        typed=lambda: area.input.text,
        connect=connect,
    )


def _connect(bridge: Bridge, area: PromptArea) -> None:
    from gshtui.ui.prompt.files import FileIndex, FileSource

    area.input.add_source(FileSource(FileIndex(bridge.opening.cwd)))
    area.input.commands = {
        name: frozenset(command.parameters.model_fields)
        for command in bridge.registry or ()
        for name in (command.name, *command.aliases)
    }
    area.run_worker(_recall(bridge, area), exit_on_error=False, group="history")


async def _recall(bridge: Bridge, area: PromptArea) -> None:
    try:
        area.input.past.load(await bridge.prompts())
    except NotReady:
        return
