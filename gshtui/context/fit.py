"""Whether a request fits its model's window, and if not, the one sentence that says what fills it. Pure.

Owns the wording and the room for the answer. Called by the engine, after everything that can be cut is cut.
"""

from __future__ import annotations

from dataclasses import replace

from gshtui.context.assembly import Assembly
from gshtui.context.compact import largest
from gshtui.context.terms import Terms
from gshtui.context.views import ContextError

_LARGER = "Switch to a model with a larger window (`model list`)"


def refusal(terms: Terms, assembly: Assembly, expected: int, *, again: bool) -> ContextError | None:
    """Why the request may not be sent; `None` when it may.

    Args:
        expected: its tokens as the provider would count them.
        again: it was compacted only a moment ago.
    """
    hard = terms.limits.hard
    if expected <= hard:
        return None
    ratio = expected / max(1, assembly.tokens)
    takes = f"{terms.model} takes {terms.limits.window:,} with its answer"
    fixed, rest = assembly.blocks[: assembly.fixed], assembly.blocks[assembly.fixed :]
    size = round(sum(block.tokens for block in fixed) * ratio)
    pins = [block for block in rest if block.pinned]
    pinned = round(sum(block.tokens for block in pins) * ratio)
    if size > hard:
        return ContextError(
            "full",
            f"The system and tools sections alone take about {size:,} tokens, and {takes}; the largest are "
            f"{largest(fixed)}.",
            f"{_LARGER}, or shorten AGENTS.md and give the agent fewer tools.",
        )
    if pinned and size + pinned > hard:
        return ContextError(
            "full",
            f"The pinned blocks do not fit: they take about {pinned:,} tokens beside {size:,} of system and tools, and "
            f"{takes}.",
            f"Unpin one (`unpin`). {_LARGER}.",
        )
    if again:
        return ContextError(
            "full",
            f"The context was full again right after it was compacted: about {expected:,} tokens, and {takes}; the "
            f"largest are {largest(rest)}.",
            f"{_LARGER}, lower `[context] max_tool_output_bytes`, or ask for less at a time.",
        )
    return ContextError(
        "full",
        f"The message is too long: with everything cut that can be cut the request is about {expected:,} tokens, and "
        f"{takes}; the largest are {largest(rest)}.",
        f"Put the text into a file and let the agent read it in parts. {_LARGER}.",
    )


def with_room(terms: Terms, assembly: Assembly, expected: int) -> Assembly:
    """The assembly with an answer that fits behind it: providers refuse what together exceeds the window."""
    left = terms.limits.window - expected - 64
    wanted = assembly.request.max_output or terms.capabilities.max_output
    if not wanted or wanted <= left:
        return assembly
    return replace(assembly, request=replace(assembly.request, max_output=max(128, left)))
