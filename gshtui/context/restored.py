"""Whole outputs of what was shortened at capture and is restored: read from the shelf, once each.

Owns nothing but the look-up; an output that is no longer kept stays shortened. Called by the engine and the service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gshtui.bus.messages import Message, ToolResult
from gshtui.context.plan import Plan
from gshtui.context.ports import Shelf
from gshtui.store.errors import StoreError


async def restored_outputs(shelf: Shelf, messages: Sequence[Message], plan: Plan) -> Mapping[str, str]:
    """Key → whole text of each restored block whose output was shortened."""
    if not plan.restored:
        return {}
    answers = {id.rpartition("/")[0].removesuffix("-results"): id for id in plan.restored}
    wanted = set(plan.restored)
    found: dict[str, str] = {}
    for message in messages:
        if message.role != "tool" or message.id.removesuffix("-results").removesuffix("-closed") not in answers:
            continue
        for number, part in enumerate(message.blocks):
            if f"{message.id}/{number}" in wanted and isinstance(part, ToolResult) and part.output:
                try:
                    found[part.output] = await shelf.output(part.output)
                except StoreError:
                    continue  # removed since: the shortened text is all there is
    return found
