"""A field of one line, for dialogs and searches."""

from __future__ import annotations

from typing import Any

from textual.widgets import Input


class LineField(Input):
    """Its cursor stands still, as that of the prompt does: an open dialog costs nothing."""

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None, **options: Any) -> None:
        super().__init__(value, placeholder=placeholder, id=id, compact=True, **options)
        self.cursor_blink = False
