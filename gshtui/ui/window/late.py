"""What is imported only once it is needed: the palette when it is opened, the hub after the first frame.

Owns nothing. Called by the app class, which names these where Textual and the bridge want a function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gshtui.ui.kit.port import HubPort, Opening


def palette_of(name: str) -> Any:
    """A provider of the palette."""
    from gshtui.ui.window import palette

    return getattr(palette, name)


PALETTE = {partial(palette_of, name) for name in ("Actions", "Commands", "Themes", "Listed")}


async def make_hub(opening: Opening) -> HubPort:
    """The real hub."""
    from gshtui.ui.window.opening import make_hub

    return await make_hub(opening)
