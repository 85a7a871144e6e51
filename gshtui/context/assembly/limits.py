"""Limits: how many tokens a model can be sent, and when to cut. Pure.

Defines every relevant fraction of a window; an unknown window (0) has no limit. Called by the engine, the service and
the forecast.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.agent_data import EffortChoice
from gshtui.context.log.overlays import Tuned
from gshtui.providers.port import Capabilities
from gshtui.settings.settings_tables import Context

INSTRUCTION_TOKENS = 500
"""Room for the request of a summary itself."""


class ContextSettings(msgspec.Struct, frozen=True):
    """The keys of `[context]` that this room reads."""

    protect: int = 40_000
    threshold: float = 0.85
    output_bytes: int = 30_000
    strategy: str = "summarise"
    review: bool = False
    """Wait for a person's review of each summary while one is at a window."""
    review_seconds: float = 120.0
    summary_seconds: float = 180.0
    reserved_system: int = 0
    """Tokens kept for the sections before the history, even where they are smaller now."""
    reserved_response: int = 0
    """Tokens kept for the answer; 0: an eighth of the window."""
    effort: EffortChoice = ""
    """How hard the model should think; empty: as its provider decides."""

    @classmethod
    def from_table(cls, table: Context) -> ContextSettings:
        return cls(
            protect=table.prune_protect_tokens,
            threshold=table.compact_threshold,
            output_bytes=table.max_tool_output_bytes,
            strategy=table.history,
            review=table.review_summaries,
            review_seconds=table.review_seconds,
            summary_seconds=table.summary_seconds,
            reserved_system=table.reserved_system,
            reserved_response=table.reserved_response,
        )

    def tuned(self, by: Tuned) -> ContextSettings:
        """These settings, overridden by one agent's own."""
        tuned = {name: getattr(by, name) for name in ("protect", "threshold", "output_bytes", "strategy", "effort")}
        return msgspec.structs.replace(self, **{name: value for name, value in tuned.items() if value is not None})


class Limits(msgspec.Struct, frozen=True):
    """The limits of one request, tokens by the provider's count."""

    window: int
    trigger: int
    """A compaction starts above this."""
    hard: int
    """The largest possible request; the rest is for the answer."""
    summary: int
    """The longest summary to ask for."""
    protect: int
    """Tokens of recent tool output that pruning never touches."""
    words: int
    """Tokens for people's own words after a compaction."""
    pins: int
    """For pinned blocks, together."""
    recent: int
    """For the newest messages, which a compaction leaves as they are."""
    reserved: int = 0
    """Kept for the sections before the history: the trigger counts them as at least this many."""


def limits(model: Capabilities, settings: ContextSettings) -> Limits:
    """The limits of a model.

    The answer keeps an eighth of the window (8,192 tokens at most) unless the settings say more, and a summary the
    same, so that there is always room to compact: the trigger is the threshold, or lower where that leaves no room for
    a summary and its request.
    """
    window = max(model.window, 1)
    usual = min(8_192, max(256, window // 8))
    answer = min(settings.reserved_response or usual, max(256, window // 2), model.max_output or window)
    hard = max(1, window - answer)
    room = max(hard // 2, hard - INSTRUCTION_TOKENS - window // 16)
    return Limits(
        window=window,
        trigger=max(1, min(int(window * settings.threshold), room)),
        hard=hard,
        summary=answer,
        protect=min(settings.protect, max(500, int(hard * 0.5))),
        words=min(20_000, hard // 8),
        pins=hard * 2 // 5,
        recent=min(20_000, hard // 8),
        reserved=min(settings.reserved_system, hard // 2),
    )


def capture_bytes(window: int, setting: int) -> int:
    """Bytes of one tool's output to keep at capture: the setting, or a quarter of a small window. 0: all."""
    if not setting or not window:
        return setting
    return min(setting, max(2_000, window))


def strategy_of(text: str) -> tuple[str, int]:
    """(`summarise`, 0), (`last`, messages) or (`budget`, tokens). Raises `ValueError`: it is not one of these; the text
    lists them.
    """
    words = text.strip().lower().replace("_", " ").split()
    if words in (["summarise"], ["summarize"]):
        return "summarise", 0
    if len(words) == 2 and words[0] in ("last", "budget") and words[1].replace(",", "").isdecimal():
        count = int(words[1].replace(",", ""))
        if count > 0:
            return words[0], count
    raise ValueError(f"{text[:60]!r} is not a strategy; use `summarise`, `last N` (messages) or `budget N` (tokens).")
