"""Lists that are filtered by typing: what is listed, which row is chosen, and what is tried out on the way."""

import itertools
import re

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice
from gshtui.ui.kit.widgets.filtered_list import FilteredList
from gshtui.ui.kit.widgets.list_rows import ListRow, list_lines
from tests.kit import window
from tests.kit.storms import combined
from tests.kit.transcript_host import STYLES

MODELS = [
    PickerChoice("a", "Sonnet", columns=("anthropic", "200k", "$3 / $15")),
    PickerChoice("b", "offline", columns=("offline",), current=True),
    PickerChoice("c", "A model with a name that goes on and on and on", columns=("openai", "1.1M", "$1 / $10")),
]


class PickerHost(ThemedApp[None]):
    """Opens one picker, and keeps its answer."""

    CSS_PATH = [STYLES / "screens.tcss"]

    def __init__(self, picker: Picker) -> None:
        super().__init__()
        self.picker = picker
        self.answers: list[str | None] = []

    def compose(self) -> ComposeResult:
        yield Input()

    def on_mount(self) -> None:
        self.push_screen(self.picker, self.answers.append)


def rows(app: PickerHost) -> list[str]:
    listed = app.picker.query_one(OptionList)
    return [str(listed.get_option_at_index(at).prompt) for at in range(listed.option_count)]


async def opened(pilot: Pilot[None], *keys: str) -> None:
    await pilot.pause()
    await pilot.press(*keys)
    await pilot.pause()


async def test_columns_stand_below_each_other_and_below_their_headings() -> None:
    app = PickerHost(Picker("Models", MODELS, empty="", headings=("model", "provider", "window", "price")))
    async with app.run_test(size=(90, 30)) as pilot:
        await opened(pilot)
        shown = rows(app)
        assert [shown[0].index(name) for name in ("provider", "window", "price")] == [
            shown[1].index(cell) for cell in ("anthropic", "200k", "$3 / $15")
        ]
        assert {row.index(cell) for row, cell in zip(shown[1:], ("anth", "offline ", "openai"), strict=True)} != {0}
        assert shown[2].index("offline", 10) == shown[1].index("anthropic") == shown[3].index("openai")
        assert "…" in shown[3][:40]
        assert not app.picker.query_one(Input).cursor_blink, "each blink draws the window behind the dialog again"
        await pilot.press("enter")
    assert app.answers == ["b"]


async def test_the_heading_is_never_chosen() -> None:
    app = PickerHost(Picker("Models", MODELS, empty="", headings=("model", "provider")))
    async with app.run_test(size=(90, 30)) as pilot:
        await opened(pilot, "up", "up", "up", "up")
        assert app.picker.chosen in {"a", "b", "c"}
        await opened(pilot, *"sonnet")
        assert app.picker.chosen == "a"
        await opened(pilot, *"zzz")
        assert app.picker.chosen is None and rows(app) == ["No matches for “sonnetzzz”."]
        await pilot.press("enter")
        assert not app.answers
        await pilot.press("escape")
    assert app.answers == [None]


async def test_what_is_highlighted_is_tried_out() -> None:
    seen: list[str] = []
    app = PickerHost(
        Picker("Themes", [PickerChoice(name, name) for name in ("one", "two", "three")], empty="", preview=seen.append)
    )
    async with app.run_test(size=(90, 30)) as pilot:
        await opened(pilot, "down", "down")
        assert seen == ["one", "two", "three"]  # none twice
        await opened(pilot, "t", "w")
        assert seen[-1] == "two"
        assert app.picker.styles.background.a == 0, "the window behind is not bright"
        await pilot.press("enter")
    assert app.answers == ["two"]


async def test_a_changed_size_keeps_the_row() -> None:
    app = PickerHost(Picker("Models", MODELS, empty=""))
    async with app.run_test(size=(90, 30)) as pilot:
        await opened(pilot, "down")
        assert app.picker.chosen == "c"
        for size in ((60, 20), (120, 40), (40, 12)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert app.picker.chosen == "c"


def test_rows_with_columns_of_their_own_keep_them_and_their_states_aligned() -> None:
    table = [
        ListRow("title", columns=("age", "agent", "model")),
        ListRow("New conversation", "this one is kept"),
        ListRow("Why is it slow?", columns=("2 d", "main", "Claude Sonnet"), state="in pts/4"),
        ListRow("日本語の名前", columns=("4 s", "", "m"), mark="● "),
    ]
    for room in range(48, 160):
        lines = [line.plain for line in list_lines(table, room)]
        assert all(cell_len(line) <= room for line in lines)
        assert cell_len(lines[2]) == room and lines[2].endswith("in pts/4"), "states end at the right"
        assert lines[0].index("age") == lines[2].index("2 d")
        assert cell_len(lines[3][: lines[3].index("4 s")]) == lines[0].index("age")
        if room >= 70:
            assert lines[0].index("model") == lines[2].index("Claude") and "this one is kept" in lines[1]


def test_rows_have_four_aligned_columns_at_every_width() -> None:
    table = [
        ListRow("compact", "Replace the conversation so far with a summary", "4 % full"),
        ListRow("review", "Review uncommitted changes"),
        ListRow("resume", "Continue an earlier conversation", "12 here", "f3", mark="● "),
        ListRow("日本語の名前", "a name of wide letters", "", "ctrl+p"),
    ]
    for room in range(24, 160):
        lines = [line.plain for line in list_lines(table, room)]
        assert all(cell_len(line) <= room for line in lines)
        assert [line[2:5] for line in lines[:3]] == ["com", "rev", "res"] and lines[2].startswith("● ")
        if room >= 60:
            assert [cell_len(line) for line in lines[2:]] == [room, room], "keys end at the right"
            assert lines[2].endswith("f3") and lines[3].endswith("ctrl+p")
        if room >= 82:
            starts = {line.index(word) for line, word in zip(lines[:3], ("Replace", "Review", "Continue"), strict=True)}
            assert len(starts) == 1, "descriptions start below each other where none is cut"


def test_a_description_has_the_room_of_a_state_and_a_key_that_its_row_lacks() -> None:
    rows = [ListRow("one", "a description of forty letters, no more.", mark="")]
    rows.append(ListRow("two", rows[0].detail, "not installed", "f8", mark=""))
    free, taken = (str(line).rstrip() for line in list_lines(rows, 50))
    assert free.endswith("no more.") and "…" in taken and taken.endswith("f8")


def test_no_description_is_cut_beside_blanks() -> None:
    keys, states = ("", "f8", "shift+tab", "a"), ("", "off", "not installed")
    rows = [
        ListRow(f"name {key}", "Continue another conversation of this folder", state, key)
        for key, state in itertools.product(keys, states)
    ]
    for room in range(40, 140):
        for row, line in zip(rows, list_lines(rows, room, 24), strict=True):
            assert line.cell_length <= room
            if "…" in line.plain and not row.state:
                behind = line.plain.partition("…")[2]
                assert behind.strip() == row.key and len(behind) <= len(row.key) + 3, (room, line.plain)
            assert room < 70 or line.plain.endswith(row.key)


def test_descriptions_begin_in_one_column_however_long_they_are() -> None:
    rows = [ListRow("Start agent", "Start another agent in a terminal", key="f8", mark="")]
    rows.append(ListRow("The widest name of this list", "short and whole", key="f8", mark=""))
    for room in range(50, 90):
        first, second = (line.plain for line in list_lines(rows, room, 24))
        assert first.index("Start another") == second.index("short"), (room, first, second)
        assert first.endswith("f8") and cell_len(first) == cell_len(second) == room


@pytest.mark.parametrize("count", [9, 30])
async def test_rows_end_where_the_list_does_however_its_scroll_bar_came(count: int) -> None:
    entries = [PickerChoice(str(n), f"model {n}", "what it is for", state="no key") for n in range(count)]
    app = PickerHost(Picker("Models", entries, empty="", hint="enter to choose"))
    async with app.run_test(size=(61, 17)) as pilot:
        listed = app.picker.choices
        for size in ((61, 17), (61, 40), (90, 15), (61, 20)):
            await pilot.resize_terminal(*size)
            for key in ("1", "backspace"):
                await opened(pilot, key)
                await pilot.pause()
                assert {cell_len(row) for row in rows(app)} == {listed.scrollable_content_region.width}, size


@pytest.mark.parametrize(("count", "title"), combined([3, 14, 40], ["", "Models"]))
async def test_no_row_of_a_dialog_is_empty_or_cut_at_any_size(count: int, title: str) -> None:
    hint = "{list.choose} to use it from the next request, or to paste its key · {list.close} to close"
    choices = [PickerChoice(str(number), f"model {number}", "what it is for") for number in range(count)]
    app = PickerHost(Picker(title, choices, empty="", hint=hint))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        for size in ((80, 24), (61, 20), (120, 35), (200, 50), (100, 30), (61, 20), (250, 60)):
            await pilot.resize_terminal(*size)
            await settled(pilot)
            dialog = app.picker.query_one(".dialog")
            *_, listed, last = dialog.children
            assert last.region.bottom == dialog.content_region.bottom, (size, dialog.region, last.region)
            assert listed.region.height == min(count, listed.region.height) and dialog.region.height <= size[1]


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(4):  # the layout, what fits in it, and the layout with that
        await pilot.pause()


async def test_a_list_is_never_blank_first() -> None:
    app = PickerHost(Picker("Models", MODELS, empty=""))
    async with app.run_test(size=(90, 30)):
        assert len(rows(app)) == len(MODELS), "before it is laid out"


def test_no_name_of_a_list_of_names_is_cut() -> None:
    names = ("Anthropic", "OpenAI", "Gemini", "OpenRouter")
    row = ListRow("Paste a key", f"{', '.join(names[:-1])} or {names[-1]}", lists=True)
    for room in range(24, 90):
        line = list_lines([row, ListRow("Shell reporting", "agents know what you run")], room)[0].plain
        shown = re.split(r", | or ", line.removeprefix("  Paste a key").strip().removesuffix(" …"))
        assert shown == list(names[: len(shown)]) or shown[0] in ("", "…"), (room, line)
        assert (len(shown) == len(names)) == ("…" not in line)


def test_facts_give_way_in_their_order_before_a_name_or_another_fact_is_cut() -> None:
    facts = ("19 s", "104", "$0.04", "parser-fix", "main", "Claude Sonnet 5.5")
    table = [
        ListRow("title", columns=("age", "msgs", "cost", "branch", "agent", "model")),
        ListRow("Why is the parser slow today?", columns=facts, state="open"),
    ]
    seen: list[int] = []
    for room in range(60, 130):
        line = list_lines(table, room, most=70, gives=(1, 5, 3))[1].plain
        assert "Why is the parser slow today?" in line and "…" not in line and line.endswith("open"), (room, line)
        left = [fact for at, fact in enumerate(facts) if at not in (1, 5, 3)]
        assert all(fact in line for fact in left)
        seen.append(sum(fact in line for fact in facts))
    assert seen[0] == 3 and seen[-1] == 6 and seen == sorted(seen)


@pytest.mark.parametrize(
    ("size", "look"), combined([(61, 20), (80, 24), (120, 35), (200, 50)], ["", "-palette", "-wide -settings"])
)
async def test_rows_are_made_for_their_room_before_they_are_laid_out(size: tuple[int, int], look: str) -> None:
    class Listed(FilteredList[None]):
        def fill(self) -> None:
            rooms.append(self.room)
            self.show([Option("one")], "")

    rooms: list[int] = []
    app = window.Window()
    async with app.run_test(size=size) as pilot:
        await window.settled(pilot)
        app.push_screen(Listed(prompt="", look=look))
        await window.settled(pilot)
        assert isinstance(app.screen, Listed)
        assert {*rooms} == {app.screen.room}
