"""Pictures of prompts as rows: in the conversation and in the inspector, from their small copies."""

import zlib
from pathlib import Path

from msgspec.structs import replace
from msgspec.structs import replace as changed

from gshtui.bus.messages import Image, Message, Text
from gshtui.media import media_files
from gshtui.ui.context import inspector_state as states
from gshtui.ui.context.inspector_lines import PictureLine, inspector_entries
from gshtui.ui.context.inspector_state import InspectorState
from gshtui.ui.conversation.conversation_entries import entries_of
from gshtui.ui.kit.drawing.picture_rows import thumbnail_size
from gshtui.ui.kit.transcript.entries import PromptEntry
from gshtui.ui.kit.transcript.picture_blocks import prompt_pictures
from tests.kit.markdown_page import make_page
from tests.kit.recorded_contexts import RecordedContexts


def kept(columns: int = 6, rows: int = 5) -> Image:
    """A picture whose small copy has these pixels."""
    small = media_files.keep(zlib.compress(bytes(range(3 * columns)) * rows))
    return Image("image/png", "", "a\x1b.png", "0" * 32, 9, columns * 100, rows * 100, small, columns)


def test_a_prompts_picture_is_drawn_below_it_where_there_are_colours(tmp_path: Path) -> None:
    prompt = entries_of(Message("m1", "user", (Text("see"), kept())))[0]
    assert isinstance(prompt, PromptEntry) and prompt.attachments == ("a\x1b.png (600 × 500, 1 kB)",)
    (block,) = prompt_pictures(prompt.pictures)
    rows = block.draw(make_page(40))
    assert [row.text.strip("▌ ") for row in rows] == ["▀" * 6] * thumbnail_size(prompt.pictures[0])[1]
    assert len(rows) == 3 and block.copied == ""
    assert block.draw(replace(make_page(40), colours=False)) == []
    gone = changed(prompt.pictures[0], small="0" * 32)
    assert prompt_pictures([gone])[0].draw(make_page(40)) == []
    narrow = block.draw(make_page(8))
    assert all(row.cells <= 8 for row in narrow)


async def test_an_open_block_of_the_inspector_has_the_picture(tmp_path: Path) -> None:
    service = RecordedContexts()
    view = await service.view("main", "")
    image = kept()
    history = next(block for block in view.blocks if block.section == "history")
    blocks = tuple(changed(one, picture=image) if one is history else one for one in view.blocks)
    state = states.with_view(InspectorState("main"), changed(view, blocks=blocks), ())
    state = changed(state, opened=frozenset({"s:history", f"b:{history.id}"}))
    (entry,) = [one for one in inspector_entries(state, pictures=True) if isinstance(one.data, PictureLine)]
    assert entry.data == PictureLine(image, 3) and entry.text is not None and entry.text.count("\n") == 2
    assert not [one for one in inspector_entries(state) if isinstance(one.data, PictureLine)]
