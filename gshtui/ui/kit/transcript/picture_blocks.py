"""The blocks of pictures: of those that a call has drawn, and of those that went with a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.segment import Segment

from gshtui.bus.messages import Image, Picture
from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.picture_rows import about_picture, attached_picture, page_picture
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.transcript.entries import ToolEntry
from gshtui.ui.kit.transcript.entry_blocks import EntryBlock


def picture_blocks(tool: ToolEntry) -> list[EntryBlock]:
    """A block for each picture of a call."""
    return [EntryBlock(partial(_picture, one), f"[picture {about_picture(one)}]") for one in tool.pictures]


def prompt_pictures(images: Sequence[Image]) -> list[EntryBlock]:
    """A block for each picture of a prompt, below the line that names it."""
    return [EntryBlock(partial(_of_prompt, image), "", goes_on=True) for image in images]


def _picture(picture: Picture, page: Page) -> list[StyledLine]:
    palette = page.palette
    head = StyledLine([Segment(f"picture {about_picture(picture)}", palette.faint)])
    bar = Segment("  │ ", palette.rule)
    rows = page_picture(picture, page.narrower(4))
    return [head.behind(Segment("  ╷ ", palette.rule)), *(_whole(row).behind(bar) for row in rows)]


def _of_prompt(image: Image, page: Page) -> list[StyledLine]:
    palette = page.palette
    bar = Segment("▌  ", palette.prompt_bar)
    rows = page_picture(attached_picture(image), page.narrower(3))
    return [_whole(row).behind(bar).filled(page.width, palette.prompt_fill) for row in rows]


def _whole(row: list[Segment]) -> StyledLine:
    """A row of a picture, of which nothing is copied."""
    return StyledLine(row, margin=sum(len(cell.text) for cell in row))
