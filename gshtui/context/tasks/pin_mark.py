"""The mark on a shell command quoted in a prompt, by which a pinned command is found again.

Pure. Written where a prompt quotes a command; read when the prompt is in the conversation.
"""

from __future__ import annotations

from gshtui.bus.messages import Message, Text

TAG = "shell-command"
PINNED = f'<{TAG} pinned="yes" '


def pinned_blocks(message: Message) -> list[str]:
    """The ids of the context's blocks of a person's words that contain a pinned command."""
    if message.role != "user":
        return []
    return [
        f"{message.id}/{number}"
        for number, block in enumerate(message.blocks)
        if isinstance(block, Text) and PINNED in block.text
    ]
