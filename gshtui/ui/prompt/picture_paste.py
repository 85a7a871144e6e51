"""Pasting the picture that is on the clipboard, as a mention of the file in which it is kept."""

from __future__ import annotations

import asyncio
import os

from gshtui.media.clipboard_picture import NoClipboardError, keep_picture, save_clipboard_picture
from gshtui.media.mentions import dropped
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.folding_area import FoldingArea


async def paste_picture(area: FoldingArea, *, quiet: bool = False) -> None:
    """Mention the picture; without one, paste the text that was copied in the window, or, if `quiet`, do nothing."""
    file, why = None, "No picture on the clipboard."
    try:
        try:
            file = await asyncio.to_thread(save_clipboard_picture, os.environ)
        except NoClipboardError:
            from gshtui.ui.kit.textual.terminal_clipboard import read_terminal_picture

            if (data := await read_terminal_picture(app_of(area))) is None:
                raise
            file = await asyncio.to_thread(keep_picture, data)
    except ExpectedError as error:
        why = f"{error.message} {error.hint}".strip()
    if file is not None:
        area.insert_typed(dropped(str(file)))
    elif quiet:
        return
    elif app_of(area).clipboard:
        area.action_paste()
    else:
        area.notify(why, timeout=4, markup=False)
