"""The next request with something changed: another model or provider, without some tools, files or a section. Pure.

It says the tokens, whether they fit, what sending it costs at first and from then on, and what would be cut. It changes
nothing, and refuses to leave out what is not there. Called by `service`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gshtui.bus.context import Block
from gshtui.bus.messages import Usage
from gshtui.context.views import ContextError, ContextView, WhatIf
from gshtui.providers.port import Capabilities


@dataclass(frozen=True, slots=True)
class Target:
    """The model that is thought of, and how it is used. `trigger`: tokens at which a compaction starts; 0: none."""

    model: str
    provider: str
    capabilities: Capabilities
    trigger: int = 0
    prunable: int = 0
    """Tokens that pruning would free."""


def suppose(view: ContextView, target: Target, without: Sequence[str] = ()) -> WhatIf:
    """What the next request would be.

    Args:
        view: the next request as it stands.
        target: the model that it would go to; may be the same one.
        without: what is left out: a section, a tool or a pattern of tools (`git_*`), a file, or a block's id.

    Raises:
        ContextError: `unknown`: nothing of that name is sent.
    """
    kept = list(view.blocks)
    for name in without:
        fewer = [block for block in kept if not names(block, name)]
        if len(fewer) == len(kept):
            hint = "A section, a tool (`git_*` for several), a file or a block's id."
            raise ContextError("unknown", f"Nothing that is sent is called {name!r}.", hint)
        kept = fewer
    left_out = sum(block.tokens for block in view.blocks) - sum(block.tokens for block in kept)
    tokens = max(0, (view.expected or view.tokens) - left_out)
    able = target.capabilities
    same = (target.model, target.provider) == (view.model, view.provider)
    steady = _steady(tokens, able)
    return WhatIf(
        tokens=tokens,
        window=able.window,
        price=able.cost(Usage(input=tokens)),
        fits=tokens < able.window,
        cuts=_cuts(tokens, target),
        warm=steady,
        notes=(*_cache(view, kept, able, same=same), *_abilities(kept, able)),
    )


def names(block: Block, name: str) -> bool:
    """Whether this name means this block."""
    tool = block.id.removeprefix("tool/") if block.kind == "tool" else ""
    exact = (block.id, block.section, block.source, block.path)
    return name in exact or bool(tool and fnmatchcase(tool, name))


def _steady(tokens: int, able: Capabilities) -> float | None:
    """The price once the provider has all but the newest of it in its cache."""
    return able.cost(Usage(cache_read=tokens)) if able.caching else able.cost(Usage(input=tokens))


def _cuts(tokens: int, target: Target) -> tuple[str, ...]:
    said: list[str] = []
    if target.trigger and tokens >= target.trigger:
        left = tokens - target.prunable
        if target.prunable:
            said.append(f"Pruning would free about {target.prunable:,} tokens.")
        if left >= target.trigger:
            said.append(f"A compaction would start: {left:,} tokens are over its trigger of {target.trigger:,}.")
    if tokens >= target.capabilities.window:
        said.append(f"As it stands it would be refused: {target.model} takes {target.capabilities.window:,} tokens.")
    return tuple(said)


def _cache(view: ContextView, kept: Sequence[Block], able: Capabilities, *, same: bool) -> tuple[str, ...]:
    if not able.caching:
        return ("Its prompt is not cached: every request pays for all of it.",) if able.known else ()
    if not same:
        return ("Nothing of it is in that model's cache: the first request pays for all of it.",)
    for place, block in enumerate(kept):
        if block.id != view.blocks[place].id:
            lost = sum(later.tokens for later in kept[place:])
            return (
                f"The cache holds up to {view.blocks[place].source}: {lost:,} tokens behind it are paid again once.",
            )
    return ()


def _abilities(kept: Sequence[Block], able: Capabilities) -> tuple[str, ...]:
    kinds = {block.kind for block in kept}
    said: list[str] = []
    if "tool" in kinds and not able.tools:
        said.append("That model takes no tools.")
    if "image" in kinds and not able.images:
        said.append("That model takes no images; they would be left out.")
    if "document" in kinds and not able.documents:
        said.append("That model takes no documents; they would be left out.")
    if not able.known:
        said.append("That model is not in the catalog: window and abilities are guesses.")
    return tuple(said)
