"""What is imported only once it is needed: the palette when it is opened, the hub after the first frame.

Owns nothing. Called by the app class, which names these where Textual and the bridge want a function.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gshtui.ui.kit.hub_port import HubPort, OpenRequest


def palette_provider(name: str) -> Any:
    """A provider of the palette."""
    from gshtui.ui.window import palette

    return getattr(palette, name)


_PROVIDERS = ("ActionProvider", "CommandProvider", "ThemeProvider", "ListProvider")
PALETTE = {partial(palette_provider, name) for name in _PROVIDERS}


async def make_hub(opening: OpenRequest) -> HubPort:
    """The real hub."""
    from gshtui.ui.window.hub_loader import make_hub

    return await make_hub(opening)
