"""The mark of a command from the shell log in a prompt, by which one that shall never be cut is found again.

Pure. Written where a prompt quotes a command; read when the prompt is in the conversation.
"""

from __future__ import annotations

from gshtui.bus.messages import Message, Text

TAG = "shell-command"
PINNED = f'<{TAG} pinned="yes" '


def pinned_blocks(message: Message) -> list[str]:
    """The ids of a person's words that hold a pinned command, as the context knows them."""
    if message.role != "user":
        return []
    return [
        f"{message.id}/{number}"
        for number, block in enumerate(message.blocks)
        if isinstance(block, Text) and PINNED in block.text
    ]
